from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from hmas.bench.slo import WorkloadRequest
from hmas.bench.stream import LiveTarget, read_stream, request_body, request_headers
from hmas.controllers.perception.headers import read_claims
from hmas.engine.clock import FakeClock
from hmas.engine.features import RequestFeatures, TaskType
from hmas.engine.simulator.openai_api import LengthSource, decode_completion

REQUEST = WorkloadRequest(
    RequestFeatures(
        request_id="r7",
        arrival_s=3.0,
        tenant="tenant-1",
        task_type=TaskType.QA,
        importance=0.9,
        slo_ttft_ms=3520,
        slo_tpot_ms=61,
        prompt_tokens=12,
        predicted_output_tokens=40,
        known=True,
    ),
    output_tokens=25,
)
TARGET = LiveTarget("http://127.0.0.1:1/", "m", api_key="secret-key")


def chunk(text: str, **extra: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"text": text}], **extra}).encode() + b"\n"


async def stream(clock: FakeClock, lines: list[tuple[float, bytes]]) -> AsyncIterator[bytes]:
    for at_s, line in lines:
        clock.set(at_s)
        yield line


DONE = b"data: [DONE]\n"


async def test_tokens_are_timed_from_when_the_request_was_due() -> None:
    clock = FakeClock()
    usage = b'data: {"choices":[],"usage":{"completion_tokens":3}}\n'
    timing = await read_stream(
        stream(
            clock,
            [
                (11.0, chunk("a")),
                (11.0, b"\n"),
                (11.5, chunk("b", usage=None)),
                (12.0, chunk("c", usage={"completion_tokens": 3})),
                (12.7, usage),
                (12.8, DONE),
            ],
        ),
        clock.now_s,
        start_s=10.0,
    )
    assert (timing.first_s, timing.last_s) == (1.0, 2.0)
    assert (timing.chunks, timing.tokens, timing.error) == (3, 3, "")


async def test_without_usage_every_chunk_is_a_token() -> None:
    clock = FakeClock()
    lines = [(1.0, chunk("a")), (2.0, chunk("b")), (2.0, DONE)]
    assert (await read_stream(stream(clock, lines), clock.now_s, 0.0)).tokens == 2


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b'data: {"error":{"message":"engine died"}}\n', "engine died"),
        (chunk("a"), "ended early"),
    ],
)
async def test_broken_streams_say_why(line: bytes, error: str) -> None:
    clock = FakeClock()
    timing = await read_stream(stream(clock, [(1.0, line)]), clock.now_s, 0.0)
    assert error in timing.error


def test_perception_reads_back_what_the_annotation_says() -> None:
    headers = request_headers(REQUEST, TARGET)
    claims = read_claims(headers, trusted=True)
    features = REQUEST.features
    assert claims.task_type is features.task_type
    assert claims.importance == features.importance
    assert (claims.slo_ttft_ms, claims.slo_tpot_ms) == (3520, 61)
    assert claims.tenant == "tenant-1"
    assert headers["authorization"] == "Bearer secret-key"


def test_body_has_the_true_lengths_and_the_prediction_as_a_hint() -> None:
    body = request_body(REQUEST, TARGET)
    assert len(body["prompt"]) == 12
    assert (body["max_tokens"], body["ignore_eos"]) == (25, True)
    assert body["nvext"]["agent_hints"]["osl"] == 40
    assert TARGET.completions_url == "http://127.0.0.1:1/v1/completions"


def test_a_simulated_engine_learns_the_truth_beside_what_the_scheduler_sees() -> None:
    target = LiveTarget("http://127.0.0.1:1", "m", simulated=True)
    body = request_body(REQUEST, target)
    payload = json.dumps(body).encode()
    decoded, prompt_tokens = decode_completion(payload)
    simulated = LengthSource(0, 8192).sim_request(decoded, payload, prompt_tokens, "r7", 0.0)
    assert (simulated.prompt_tokens, simulated.output_tokens) == (12, 25)
    assert (simulated.max_tokens or 0) > 25
