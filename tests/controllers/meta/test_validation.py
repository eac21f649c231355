from __future__ import annotations

import math

import pytest

from hmas.controllers.meta.base import Proposal, Refusal, RefusalKind
from hmas.controllers.meta.validation import validated
from tests.controllers.support import context


def wish(topology: str = "edf", **hints: float) -> Proposal:
    return Proposal(controller="any", topology=topology, hints=hints, reason="r")


def test_valid_proposals_pass_unchanged() -> None:
    proposal = wish(first_token=1.0)
    assert validated(proposal, context()) is proposal


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 1.1])
def test_hints_must_be_finite_and_within_bounds(value: float) -> None:
    outcome = validated(wish(first_token=value), context())
    assert isinstance(outcome, Refusal)
    assert outcome.kind is RefusalKind.HINT_OUT_OF_BOUNDS


def test_holding_a_quarantined_topology_is_allowed() -> None:
    proposal = wish("fcfs")
    assert validated(proposal, context(quarantined={"fcfs": 1e9})) is proposal


def test_only_topologies_that_the_engine_offers() -> None:
    outcome = validated(wish("edf"), context(available=["fcfs"]))
    assert isinstance(outcome, Refusal)
    assert outcome.detail == "topology 'edf' is not available (available: fcfs)"
