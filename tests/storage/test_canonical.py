"""What may be stored, in which form, and what is refused by name."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hmas.engine.directive import Controls
from hmas.storage.canonical import canonical, cleaned_text
from hmas.storage.errors import RecordRefusedError
from hmas.storage.records import AuditRecord, Record, ResumeRecord, ViewRecord
from tests.storage.support import directive, guard_event, prompt, resume, view


def test_structs_in_a_payload_become_plain_json() -> None:
    kept = canonical(resume(payload={"controls": Controls(n_run=8), "seen": ("a", "b")}))
    assert isinstance(kept, ResumeRecord)
    assert kept.payload["controls"]["n_run"] == 8
    assert kept.payload["seen"] == ["a", "b"]


def test_missing_numbers_in_a_payload_become_none() -> None:
    kept = canonical(view(payload={"p99": math.nan, "deep": [{"max": -math.inf}]}))
    assert isinstance(kept, ViewRecord)
    assert kept.payload == {"p99": None, "deep": [{"max": None}]}


def test_an_escaped_backslash_is_not_a_nul() -> None:
    record = AuditRecord(id="a", at_s=1.0, actor="x", action="y", target="z", result="\\u0000")
    assert canonical(record) == record


def too_deep() -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(100_000):
        nested = {"in": nested}
    return nested


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (view(at_s=math.nan), "at_s"),
        (view(engine_id="e" * 257), "engine_id"),
        (view(horizon="weekly"), "horizon"),
        (directive(0), "version"),
        (directive(2**63), "version"),
        (guard_event(guard="g" * 65), "guard"),
        (prompt(sha256="not a digest"), "sha256"),
        (view(payload={"thing": object()}), "object"),
        (view(payload=too_deep()), "recursion"),
    ],
)
def test_what_can_never_be_stored_is_refused_with_its_reason(record: Record, says: str) -> None:
    with pytest.raises(RecordRefusedError, match=says):
        canonical(record)


def test_plain_text_is_left_alone() -> None:
    assert cleaned_text("größer \U0001f600 \\u0000") == "größer \U0001f600 \\u0000"
