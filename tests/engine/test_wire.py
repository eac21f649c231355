from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.directive import Controls, Describe, Directive, StepModel
from hmas.engine.events import EventBatch, Outcome, RequestFinished, RequestShed, ShedReason
from hmas.engine.features import RequestFeatures
from hmas.engine.wire import (
    MAX_MESSAGE_BYTES,
    WireError,
    decode_batch,
    decode_notice,
    decode_reply,
    decode_request,
    encode,
)

DIRECTIVE = Directive(
    engine_id="e0",
    version=3,
    issued_at_s=1.5,
    ttl_s=5.0,
    topology="two_lane",
    hints={"gate_period": 10},
    controls=Controls(
        n_run=8,
        token_budget=512,
        fence={0: 10, 3: -4},
        kv_margin=0.05,
        step_model=StepModel(base_ms=1, prefill_ms=0.1, context_ms=0, sequence_ms=0.1),
    ),
    cause="d-1",
)


def test_requests_come_back_the_same() -> None:
    assert decode_request(encode(DIRECTIVE)) == DIRECTIVE
    assert decode_request(encode(Describe())) == Describe()


def test_batches_keep_every_kind_of_event() -> None:
    features = RequestFeatures(request_id="r", arrival_s=1)
    batch = EventBatch(
        source="e0",
        kind="engine",
        boot_id="b",
        sequence=1,
        sent_at_s=2.0,
        events=[
            RequestFinished(
                at_s=2,
                features=features,
                outcome=Outcome.COMPLETED,
                prompt_tokens=10,
                output_tokens=5,
                ttft_s=0.1,
                tpot_s=0.01,
            ),
            RequestShed(at_s=3, features=features, reason=ShedReason.SATURATED),
        ],
    )
    assert decode_batch(encode(batch)) == batch


@given(st.binary(max_size=2000))
def test_rubbish_is_refused(payload: bytes) -> None:
    for decode in (decode_request, decode_reply, decode_batch, decode_notice):
        with pytest.raises(WireError):
            decode(payload)


@pytest.mark.parametrize(
    "payload",
    [
        b"[" * 100_000,
        b'{"type":"directive","version":0}',
        b'{"type":"nobody"}',
        b" " * (MAX_MESSAGE_BYTES + 1),
        encode(DIRECTIVE).replace(b'"n_run":8', b'"n_run":0'),
        encode(DIRECTIVE).replace(b'"ttl_s":5.0', b'"ttl_s":NaN'),
    ],
)
def test_hostile_requests_are_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        decode_request(payload)
