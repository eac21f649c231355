from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.topologies import make_topology
from hmas.engine.topologies.fairness import token_cost
from hmas.engine.topologies.on_time import ENOUGH_S, Plan, ServiceRate
from hmas.engine.topologies.queued import QueuedRequest
from tests.engine.support import names, queued

jobs = st.lists(st.tuples(st.integers(1, 10), st.integers(1, 12)), max_size=8)


def job(name: str, latest_start_s: float, work: int) -> QueuedRequest:
    """May start at ``latest_start_s`` at the latest, and brings ``work`` priced tokens."""
    fields = {"prompt_tokens": work, "predicted_output_tokens": 0}
    return queued(name, slo_ttft_ms=1000 * latest_start_s, **fields)


def all_start_in_time(requests: Sequence[QueuedRequest], per_s: float) -> bool:
    """Whether they can, in the best order there is."""
    spent_s = 0.0
    for request in sorted(requests, key=lambda r: r.late_at_s + token_cost(r) / per_s):
        if spent_s > request.late_at_s + 1e-9:
            return False
        spent_s += token_cost(request) / per_s
    return True


@given(jobs)
def test_no_other_set_has_more_requests_in_time(sizes: list[tuple[int, int]]) -> None:
    requests = [job(f"r{n}", latest, work) for n, (latest, work) in enumerate(sizes)]
    for ticket, request in enumerate(requests, 1):
        request.ticket = ticket
    plan = Plan(requests, 0.0, per_s=2.0)
    assert sorted(names([*plan.kept, *plan.aside])) == sorted(names(requests))
    assert all_start_in_time(plan.kept, 2.0)
    most = max(
        size
        for size in range(len(requests) + 1)
        for chosen in combinations(requests, size)
        if all_start_in_time(chosen, 2.0)
    )
    assert len(plan.kept) == most


def test_by_deadline_while_all_can_be_in_time() -> None:
    topology = make_topology("on_time")
    for number, latest_s in enumerate((30, 10, 20)):
        topology.add(job(f"r{number}", latest_s, 5000), 0.0)
    assert names(topology.ordered(0.0)) == ["r1", "r2", "r0"]
    assert names([topology.pop(0.0) for _ in range(3)]) == ["r1", "r2", "r0"]


def test_the_largest_waits_when_not_all_can_be_in_time() -> None:
    topology = make_topology("on_time", {"load": 1})
    now_s = 0.0
    topology.add(job("first", 1e6, 500), now_s)
    for number in range(20):
        topology.add(job(f"past{number}", 1e6, 500), now_s)
        now_s += 0.5
        topology.pop(now_s)
    topology.pop(now_s)
    # 1,000 priced tokens per second: the large one leaves no room for the small ones.
    topology.add(job("large", now_s + 1, 8000), now_s)
    for number in range(3):
        topology.add(job(f"small{number}", now_s + 2 + number, 500), now_s)
    served = [topology.pop(now_s + 0.1) for _ in range(4)]
    assert names(served) == ["small0", "small1", "small2", "large"]


def test_a_request_between_two_plans_joins_by_deadline() -> None:
    topology = make_topology("on_time")
    topology.add(job("a", 10, 10), 0.0)
    topology.add(job("c", 30, 10), 0.0)
    topology.peek(0.0)
    topology.add(job("b", 20, 10), 0.01)
    assert names(topology.ordered(0.02)) == ["a", "b", "c"]
    assert names([topology.pop(0.02) for _ in range(3)]) == ["a", "b", "c"]


def test_late_requests_come_last_and_are_not_lost() -> None:
    topology = make_topology("on_time")
    topology.add(job("late", 1, 10), 0.0)
    topology.add(job("later", 2, 10), 0.0)
    topology.peek(0.0)
    topology.add(job("fresh", 60, 10), 3.0)
    topology.add(job("too-late-already", 0.5, 10), 3.0)
    assert names([topology.pop(3.01) for _ in range(4)]) == [
        "fresh",
        "late",
        "later",
        "too-late-already",
    ]
    assert len(topology) == 0


def test_a_rate_needs_a_backlog_to_be_measured() -> None:
    rate = ServiceRate()
    rate.elapse(0.0, backlogged=False)
    rate.served(100)
    rate.elapse(100.0, backlogged=False)
    assert rate.per_s is None
    rate.elapse(100.0 + ENOUGH_S, backlogged=True)
    assert rate.per_s == 100 / ENOUGH_S


def test_an_old_rate_is_forgotten() -> None:
    rate = ServiceRate()
    rate.elapse(0.0, backlogged=False)
    for second in range(1, 200):
        rate.served(1000 if second < 100 else 10)
        rate.elapse(float(second), backlogged=True)
    assert rate.per_s is not None
    assert 9 <= rate.per_s <= 11
