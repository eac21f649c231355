from __future__ import annotations

import msgspec

from hmas.controllers.meta.base import MetaContext, Proposal, Refusal
from tests.controllers.support import context, long, short


def test_candidates_are_available_and_not_quarantined() -> None:
    assert context(available=["fcfs", "edf"], quarantined={"edf": 9.0}).candidates == ["fcfs"]


def test_contexts_and_outcomes_travel_as_json() -> None:
    before = context(long(violation_rate=0.3), v_short=short(violation_rate=0.2))
    assert msgspec.json.decode(msgspec.json.encode(before), type=MetaContext) == before
    outcomes: list[Proposal | Refusal] = [Proposal(controller="c", topology="edf", reason="r")]
    encoded = msgspec.json.encode(outcomes)
    assert msgspec.json.decode(encoded, type=list[Proposal | Refusal]) == outcomes
