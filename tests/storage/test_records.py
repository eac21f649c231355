"""Keys, times and the two ways a request becomes a record."""

from __future__ import annotations

import pytest

from hmas.engine.events import Outcome, RequestFinished, RequestShed, ShedReason
from hmas.engine.features import RequestFeatures, TaskType
from hmas.storage.records import ALL_ENGINES, RECORD_TYPES, Record, RequestRecord
from tests.storage.support import audit, one_of_each, override, prompt, view

FEATURES = RequestFeatures(
    request_id="r1",
    arrival_s=10.0,
    tenant="acme",
    task_type=TaskType.QA,
    prompt_tokens=90,
    predicted_output_tokens=40,
    slo_ttft_ms=500.0,
    slo_tpot_ms=20.0,
)


def test_every_kind_is_listed_once() -> None:
    assert [type(record) for record in one_of_each()] == list(RECORD_TYPES)
    assert len({kind.record_kind for kind in RECORD_TYPES}) == len(RECORD_TYPES)


@pytest.mark.parametrize("record", one_of_each(), ids=lambda record: record.record_kind)
def test_keys_and_times_are_fields(record: Record) -> None:
    assert set(record.key_fields) <= set(record.__struct_fields__)
    assert record.time_s == getattr(record, record.time_field)
    assert record.engine_id
    hash(record.key)


def test_records_that_concern_no_engine_say_so() -> None:
    assert prompt().engine_id == audit().engine_id == ALL_ENGINES


def test_views_of_two_times_are_two_records() -> None:
    assert view(1.0).key != view(2.0).key


@pytest.mark.parametrize(
    ("fields", "now_s", "active"),
    [
        ({}, 1e9, True),
        ({"expires_at_s": 20.0}, 19.0, True),
        ({"expires_at_s": 20.0}, 20.0, False),
        ({"revoked_at_s": 15.0}, 12.0, False),
    ],
)
def test_an_override_is_active_until_it_ends(
    fields: dict[str, float], now_s: float, active: bool
) -> None:
    assert override(**fields).is_active(now_s) is active


def test_a_finished_request_keeps_truth_and_prediction() -> None:
    event = RequestFinished(
        at_s=12.0,
        features=FEATURES,
        outcome=Outcome.COMPLETED,
        prompt_tokens=91,
        output_tokens=50,
        ttft_s=0.4,
        tpot_s=0.03,
        queue_s=0.2,
        preemptions=1,
    )
    record = RequestRecord.of_finished("engine0", event)
    assert (record.prompt_tokens, record.output_tokens) == (91, 50)
    assert (record.predicted_output_tokens, record.task_type) == (40, "QA")
    assert (record.ttft_ok, record.tpot_ok, record.slo_ok) == (True, False, False)
    assert record.features["tenant"] == "acme"
    assert record.outcome == "completed"


def test_a_shed_request_says_why_and_how_long_it_waited() -> None:
    event = RequestShed(at_s=13.5, features=FEATURES, reason=ShedReason.TTL_EXPIRED)
    record = RequestRecord.of_shed("engine0", event)
    assert record.outcome == "shed:ttl-expired"
    assert record.queue_s == 3.5
    assert not record.slo_ok
