from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.topologies import make_topology
from tests.engine.support import names, queued


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20_000)), max_size=15))
def test_served_by_deadline_while_nothing_is_late(pairs: list[tuple[int, int]]) -> None:
    topology = make_topology("edf")
    for index, (arrival_s, slo_ms) in enumerate(pairs):
        topology.add(queued(f"r{index}", arrival_s=arrival_s, slo_ttft_ms=slo_ms), 0.0)
    deadlines = [topology.pop(0.0).features.deadline_s for _ in pairs]
    assert deadlines == sorted(deadlines)


def test_a_late_request_is_served_last_and_is_not_lost() -> None:
    topology = make_topology("edf")
    topology.add(queued("late", slo_ttft_ms=1000), 0.0)
    topology.add(queued("in-time", slo_ttft_ms=60_000), 0.0)
    assert topology.peek(0.5).features.request_id == "late"  # type: ignore[union-attr]
    assert names(topology.ordered(2.0)) == ["in-time", "late"]
    assert names([topology.pop(2.0), topology.pop(2.0)]) == ["in-time", "late"]


def test_an_expired_deadline_does_not_become_the_most_urgent() -> None:
    topology = make_topology("edf")
    for index in range(10):
        topology.add(queued(f"expired{index}", slo_ttft_ms=1 + index), 0.0)
    topology.add(queued("fresh", arrival_s=99.0), 99.0)
    assert topology.pop(100.0).features.request_id == "fresh"


def test_the_first_token_hint_ignores_the_decode_allowance() -> None:
    long = {"predicted_output_tokens": 1000, "slo_ttft_ms": 1000}
    short = {"predicted_output_tokens": 1, "slo_ttft_ms": 2000}
    for hint, expected in ((0, ["short", "long"]), (1, ["long", "short"])):
        topology = make_topology("edf", {"first_token": hint})
        topology.add(queued("long", **long), 0.0)
        topology.add(queued("short", **short), 0.0)
        assert names(topology.ordered(0.0)) == expected


def test_least_laxity_counts_the_service_still_to_come() -> None:
    topology = make_topology("llf")
    topology.add(queued("short", slo_ttft_ms=2000, predicted_ttft_ms=10), 0.0)
    topology.add(queued("long", slo_ttft_ms=2500, predicted_ttft_ms=1500), 0.0)
    assert names(topology.ordered(0.0)) == ["long", "short"]
