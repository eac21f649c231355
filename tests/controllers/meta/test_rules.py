from __future__ import annotations

from typing import Any

import pytest

from hmas.controllers.config import RulesConfig
from hmas.controllers.meta.base import Proposal, Refusal, RefusalKind
from hmas.controllers.meta.rules import Rules
from hmas.controllers.views import VLong
from tests.controllers.support import OF_THE_PAPER, context, long


def rules() -> Rules:
    return Rules(RulesConfig(), min_samples=20)


def proposed(*windows: VLong, by: Rules | None = None, **changes: Any) -> Proposal:
    outcome = (by or rules()).decide(context(*windows, **changes))
    assert isinstance(outcome, Proposal)
    return outcome


def several(count: int = 6, **changes: Any) -> list[VLong]:
    return [long(10.0 * k, **changes) for k in range(count)]


def test_without_windows_there_is_nothing_to_decide_on() -> None:
    outcome = rules().decide(context())
    assert isinstance(outcome, Refusal)
    assert outcome.kind is RefusalKind.NO_DATA


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"violation_rate": 0.04}, "violation rate 0.04 within band"),
        ({"violation_rate": 0.9, "samples": 3}, "only 18 of 20 requests measured"),
        ({"violation_rate": None}, "only 600 of 20 requests measured"),
        (
            {"violation_rate": 0.9, "arrivals": 1},
            "only 2 requests arrived: what is left is the past",
        ),
        (
            {"violation_rate": 0.4, "ttft_violation_rate": 0.0, "tpot_violation_rate": 0.4},
            "TPOT misses dominate (0.40), the order of the queue cannot help",
        ),
    ],
)
def test_holds_while_nothing_calls_for_another_order(changes: dict[str, Any], reason: str) -> None:
    proposal = proposed(*several(**changes), active="two_lane")
    assert (proposal.topology, proposal.reason) == ("two_lane", reason)


def test_deadline_misses_call_for_deadline_order() -> None:
    proposal = proposed(*several(violation_rate=0.31))
    assert proposal.topology == "edf"
    assert proposal.hints == {"first_token": 0.0}
    assert proposal.reason == "deadline misses dominate (0.31 of 200)"


def test_near_capacity_first_token_deadlines_count() -> None:
    proposal = proposed(*several(violation_rate=0.08))
    assert (proposal.topology, proposal.hints) == ("edf", {"first_token": 1.0})


def test_any_deadline_misses_call_for_most_in_time_where_that_is_offered() -> None:
    available = [*OF_THE_PAPER, "on_time"]
    for pattern in ({}, {"hol_index": 0.9}, {"work_variation": 2.0}, {"unknown_share": 0.9}):
        proposal = proposed(*several(violation_rate=0.2, **pattern), available=available)
        assert (proposal.topology, proposal.hints) == ("on_time", {})
    unfair = several(violation_rate=0.2, fairness=0.1)
    assert proposed(*unfair, available=available).topology == "wfq"
    quarantined = proposed(
        *several(violation_rate=0.2), available=available, quarantined={"on_time": 9e9}
    )
    assert quarantined.topology == "edf"


def test_head_of_line_blocking_calls_for_isolation() -> None:
    proposal = proposed(*several(violation_rate=0.2, hol_index=0.8))
    assert proposal.topology == "two_lane"
    assert "head-of-line blocking (index 0.80" in proposal.reason


def test_misses_with_varying_work_call_for_the_least_work_first() -> None:
    proposal = proposed(*several(violation_rate=0.2, work_variation=1.2))
    assert (proposal.topology, proposal.hints) == ("sjf", {"by_work": 1.0, "aging_every": 100.0})
    assert proposed(*several(violation_rate=0.2, work_variation=0.5)).topology == "edf"


def test_unfairness_must_persist() -> None:
    unfair = several(violation_rate=0.2, fairness=0.3)
    assert proposed(*unfair).topology == "wfq"
    assert proposed(*unfair[:5], long(50.0, violation_rate=0.2, fairness=0.9)).topology == "edf"


def test_untagged_traffic_is_not_ordered_by_guesses() -> None:
    windows = several(violation_rate=0.3, unknown_share=0.8)
    assert proposed(*windows, active="sjf").topology == "fcfs"
    held = proposed(*windows, active="fcfs")
    assert (held.topology, held.reason) == ("fcfs", "0.80 of the requests are unknown")


def test_a_quarantined_topology_is_passed_over() -> None:
    windows = several(violation_rate=0.2, hol_index=0.8)
    assert proposed(*windows, quarantined={"two_lane": 900.0}).topology == "edf"
    everything = dict.fromkeys(("edf", "two_lane", "sjf", "wfq"), 900.0)
    held = proposed(*windows, quarantined=everything)
    assert held.reason == "violation rate 0.20, no pattern stands out"


def test_success_is_no_reason_to_leave() -> None:
    windows = several(violation_rate=0.3, work_variation=0.7)
    assert proposed(*windows, active="sjf").topology == "sjf"
    assert proposed(*windows, active="fcfs").topology == "edf"


def test_hints_follow_overload_at_once_and_calm_only_after_a_while() -> None:
    by = rules()
    edf = {"active": "edf", "active_hints": {"first_token": 1.0}}
    onset = [*several(4, violation_rate=0.0), long(50.0, violation_rate=0.6)]
    assert proposed(*onset, by=by, at_s=60.0, **edf).hints == {"first_token": 0.0}
    edf = {"active": "edf", "active_hints": {"first_token": 0.0}}
    calm = several(violation_rate=0.0)
    assert proposed(*calm, by=by, at_s=120.0, **edf).hints == {"first_token": 0.0}
    assert proposed(*calm, by=by, at_s=700.0, **edf).hints == {"first_token": 1.0}


def test_between_calm_and_overload_hints_stay() -> None:
    for value in (0.0, 1.0):
        hints = {"first_token": value, "aging_every": 7.0}
        windows = several(violation_rate=0.08)
        assert proposed(*windows, active="edf", active_hints=hints).hints == hints
