"""What every topology in Ω must keep, whatever happens to it."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hmas.engine.topologies import (
    InvalidHintError,
    QueuedRequest,
    UnknownTopologyError,
    hint_bounds,
    make_topology,
    topology_names,
)
from tests.engine.support import core, names, queued

request_fields = st.fixed_dictionaries(
    {
        "tenant": st.sampled_from(["a", "b", "c"]),
        "tenant_weight": st.sampled_from([0.5, 1.0, 4.0]),
        "slo_ttft_ms": st.integers(10, 20_000),
        "prompt_tokens": st.integers(1, 4000),
        "predicted_output_tokens": st.integers(0, 2000),
        "predicted_tpot_ms": st.integers(1, 100),
        "predicted_ttft_ms": st.integers(1, 5000),
    }
)


class PoolMachine(RuleBasedStateMachine):
    """Random life of a pool: nothing is lost, duplicated or shown twice."""

    def __init__(self) -> None:
        super().__init__()
        self.core = core()
        self.waiting: set[QueuedRequest] = set()
        self.taken: list[QueuedRequest] = []
        self.now_s = 0.0
        self.count = 0

    @rule(fields=request_fields)
    def add(self, fields: dict[str, object]) -> None:
        self.count += 1
        request = queued(f"r{self.count}", arrival_s=self.now_s, **fields)
        self.core.add(request, self.now_s)
        self.waiting.add(request)

    @rule(seconds=st.floats(0, 30))
    def time_passes(self, seconds: float) -> None:
        self.now_s += seconds

    @precondition(lambda self: self.waiting)
    @rule()
    def take_the_head(self) -> None:
        shown = self.core.topology.peek(self.now_s)
        request = self.core.topology.pop(self.now_s)
        assert request is shown
        self.waiting.remove(request)
        self.taken.append(request)

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.taken))
        self.taken.remove(request)
        self.core.requeue(request)
        self.waiting.add(request)
        assert self.core.topology.peek(self.now_s) is request

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(sorted(self.waiting, key=lambda r: r.ticket)))
        assert self.core.remove(request)
        assert not self.core.remove(request)
        self.waiting.remove(request)

    @rule(name=st.sampled_from(topology_names()))
    def swap(self, name: str) -> None:
        self.core.swap(name, {}, self.now_s)

    @invariant()
    def holds_exactly_what_waits(self) -> None:
        assert len(self.core) == len(self.waiting)
        ordered = list(self.core.waiting(self.now_s))
        assert len(ordered) == len(self.waiting)
        assert set(ordered) == self.waiting

    @invariant()
    def shows_a_head_while_something_waits(self) -> None:
        head = self.core.topology.peek(self.now_s)
        assert (head in self.waiting) if self.waiting else head is None


PoolMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
TestPool = PoolMachine.TestCase


@pytest.mark.parametrize("name", topology_names())
def test_nobody_starves_behind_a_stream_of_favoured_requests(name: str) -> None:
    topology = make_topology(name)
    loser = queued(
        "loser",
        tenant="crowd",
        prompt_tokens=4000,
        predicted_output_tokens=4000,
        predicted_tpot_ms=100,
        slo_ttft_ms=1e6,
    )
    topology.add(loser, 0.0)
    aging_every = int(topology.hints.get("aging_every", 1))
    for admission in range(aging_every + 1):
        topology.add(queued(f"w{admission}", tenant=f"t{admission}", prompt_tokens=1), 0.0)
        if topology.pop(0.0) is loser:
            return
    pytest.fail(f"not admitted within aging_every + 1 = {aging_every + 1} admissions")


@pytest.mark.parametrize("name", topology_names())
def test_removed_requests_leave_no_weight_behind(name: str) -> None:
    topology = make_topology(name)
    for index in range(2000):
        request = queued(f"r{index}", tenant=f"t{index % 7}")
        topology.add(request, 0.0)
        topology.remove(request)
    held = sum(len(list(container)) for container in (topology._arrivals, topology._front))
    assert len(topology) == held == 0
    assert len(topology._arrivals._items) <= 130


@pytest.mark.parametrize("name", topology_names())
def test_a_request_cannot_wait_twice(name: str) -> None:
    topology = make_topology(name)
    request = queued()
    topology.add(request, 0.0)
    with pytest.raises(ValueError, match="already waits"):
        topology.add(request, 0.0)


@pytest.mark.parametrize("name", topology_names())
def test_pop_from_an_empty_topology_says_so(name: str) -> None:
    with pytest.raises(IndexError, match=name):
        make_topology(name).pop(0.0)


def test_given_back_requests_come_first_in_the_order_they_were_given_back() -> None:
    topology = make_topology("sjf")
    topology.add(queued("short", predicted_ttft_ms=1), 0.0)
    topology.requeue(queued("later", predicted_ttft_ms=9000))
    topology.requeue(queued("latest", predicted_ttft_ms=8000))
    assert names(topology.ordered(0.0)) == ["latest", "later", "short"]


def test_hints_are_bounded_and_named() -> None:
    assert hint_bounds("two_lane")["gate_period"] == (2, 100)
    with pytest.raises(InvalidHintError, match="gate_period of two_lane must lie in"):
        make_topology("two_lane", {"gate_period": 1})
    with pytest.raises(InvalidHintError, match="has no hint 'speed'"):
        make_topology("edf", {"speed": 1})
    with pytest.raises(InvalidHintError, match="fast_share"):
        make_topology("two_lane", {"fast_share": float("nan")})
    with pytest.raises(UnknownTopologyError, match="known: fcfs, "):
        make_topology("magic")


def test_a_request_that_was_given_back_takes_no_turn_from_the_oldest() -> None:
    topology = make_topology("sjf", {"aging_every": 2})
    oldest = queued("oldest", predicted_tpot_ms=100.0)
    for request in (oldest, *(queued(f"short{n}", predicted_tpot_ms=1.0) for n in range(3))):
        topology.add(request, 0.0)
    blocked = topology.pop(0.0)
    for _ in range(3):
        topology.requeue(blocked)
        assert topology.pop(0.0) is blocked
    assert topology.pop(0.0) is oldest
