from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hmas.engine.core import ExecutionCore
from hmas.engine.directive import Controls
from hmas.engine.features import XARGS_KEY, encode_features
from hmas.engine.topologies import QueuedRequest, topology_names
from hmas.engine.vllm_queue import TopologyQueue
from hmas.engine.vllm_requests import Tracked, features_of, held_tokens, most_output_tokens
from tests.engine.fake_vllm import FakeQueue, FakeRequest, Status
from tests.engine.support import LIMITS, core, directive, features


class Bench:
    """A queue, its core, and requests that tell their predicted lengths."""

    def __init__(self, topology: str, kv_blocks: int = 1000, **controls: Any) -> None:
        self.core: ExecutionCore = core(
            msgspec.structs.replace(LIMITS, kv_blocks=kv_blocks),
            tokens_of=held_tokens,
            max_tokens_of=most_output_tokens,
        )
        self.core.apply(directive(1, topology, controls=Controls(**controls)), 0.0)
        self.entries: dict[FakeRequest, QueuedRequest] = {}
        self.queue = TopologyQueue(self.core, self.entry_of, FakeQueue)

    def entry_of(self, request: FakeRequest) -> QueuedRequest:
        if request not in self.entries:
            tracked = Tracked(request, len(self.entries), 0.0)
            self.entries[request] = self.core.queued(features_of(request), tracked)
        return self.entries[request]

    def request(self, name: str, **fields: Any) -> FakeRequest:
        tags = features(name, slo_ttft_ms=1e9, **fields)
        return FakeRequest(
            name,
            arrival_time=float(len(self.entries)),
            num_prompt_tokens=tags.prompt_tokens,
            extra_args={XARGS_KEY: encode_features(tags)},
        )

    def add(self, name: str, **fields: Any) -> FakeRequest:
        request = self.request(name, **fields)
        self.queue.add_request(request)
        return request

    def drain(self) -> list[str]:
        order = []
        while self.queue:
            shown = self.queue.peek_request()
            assert self.queue.pop_request() is shown
            order.append(shown.request_id)
        return order


def test_pops_in_the_order_of_the_topology() -> None:
    bench = Bench("sjf")
    for number in (3, 1, 2):
        bench.add(str(number), predicted_tpot_ms=float(number))
    assert [request.request_id for request in bench.queue] == ["1", "2", "3"]
    assert bench.drain() == ["1", "2", "3"]
    assert len(bench.queue) == 0


def test_what_vllm_gives_back_goes_first_in_the_order_it_had() -> None:
    bench = Bench("sjf")
    for number in range(4):
        bench.add(str(number), predicted_tpot_ms=1.0 + number)
    skipped = FakeQueue()
    for _ in range(2):
        skipped.appendleft(bench.queue.pop_request())
    bench.queue.prepend_requests(skipped)
    assert bench.drain() == ["0", "1", "2", "3"]


def test_removing_what_is_not_there_is_ignored() -> None:
    bench = Bench("edf")
    here = bench.add("here")
    bench.queue.remove_requests([FakeRequest("elsewhere")])
    assert len(bench.queue) == 1
    bench.queue.remove_requests({FakeRequest("elsewhere"), here})
    assert len(bench.queue) == 0
    assert not bench.queue


def test_nothing_is_looked_up_while_no_slot_is_free() -> None:
    bench = Bench("edf")
    bench.add("a")
    bench.queue.begin_step(0.0, admits=False)
    assert not bench.queue
    assert len(bench.queue) == 1
    bench.queue.end_step()
    assert bench.queue


def test_the_fence_closes_the_queue_and_opens_it_again() -> None:
    bench = Bench("fcfs", kv_blocks=20, fence={0: 0})
    first, second = (bench.add(name, predicted_output_tokens=100) for name in "ab")
    assert bench.queue.pop_request() is first
    bench.queue.begin_step(1.0, admits=True)
    assert not bench.queue
    assert len(bench.queue) == 1
    with pytest.raises(IndexError):
        bench.queue.peek_request()
    with pytest.raises(IndexError):
        bench.queue.pop_request()
    bench.core.remove(bench.entries[first])
    bench.queue.begin_step(2.0, admits=True)
    assert bench.queue.pop_request() is second


def test_takes_over_a_queue_with_its_preempted_requests_in_front() -> None:
    bench = Bench("sjf")
    requests = [bench.request(str(n), predicted_tpot_ms=9.0 - n) for n in range(4)]
    requests[0].status = Status.PREEMPTED
    bench.queue.load(requests, lambda request: request.status is Status.PREEMPTED)
    assert bench.drain() == ["0", "3", "2", "1"]


class BrokenAfter:
    """Wraps a method so that it raises once it has worked ``calls`` times."""

    def __init__(self, method: Any, calls: int) -> None:
        self._method, self._left = method, calls

    def __call__(self, *arguments: Any) -> Any:
        if self._left == 0:
            raise RuntimeError("broken")
        self._left -= 1
        return self._method(*arguments)


@pytest.mark.parametrize("method", ["head", "start", "add", "requeue", "remove"])
@pytest.mark.parametrize("calls", [0, 1, 2])
def test_a_broken_core_leaves_stock_order_and_loses_nobody(method: str, calls: int) -> None:
    bench = Bench("sjf")
    requests = [bench.add(str(n), predicted_tpot_ms=9.0 - n) for n in range(6)]
    setattr(bench.core, method, BrokenAfter(getattr(bench.core, method), calls))
    popped = [bench.queue.pop_request() for _ in range(2) if bench.queue]
    bench.queue.prepend_requests(popped[:1])
    bench.queue.remove_requests(requests[5:])
    late = bench.add("late")
    waiting = {*requests[:5], late} - set(popped[1:])
    waiting -= {request for request in popped[:1] if request is requests[5]}
    assert len(bench.queue) == len(waiting)
    assert set(bench.drain()) == {request.request_id for request in waiting}
    assert bench.queue.fault is None or str(bench.queue.fault) == "broken"


class QueueMachine(RuleBasedStateMachine):
    """Whatever vLLM does and whatever is swapped: nobody is lost, doubled or shown twice."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench("fcfs", fence={0: 0})
        self.waiting: set[FakeRequest] = set()
        self.running: list[FakeRequest] = []
        self.count = 0
        self.now_s = 0.0

    @rule(output=st.integers(0, 2000), tpot=st.integers(1, 50))
    def add(self, output: int, tpot: int) -> None:
        self.count += 1
        self.waiting.add(
            self.bench.add(
                str(self.count), predicted_output_tokens=output, predicted_tpot_ms=float(tpot)
            )
        )

    @rule(admits=st.booleans(), seconds=st.floats(0, 100))
    def step(self, admits: bool, seconds: float) -> None:
        self.now_s += seconds
        self.bench.queue.begin_step(self.now_s, admits=admits)

    @rule(skip=st.booleans())
    def admit(self, skip: bool) -> None:
        if not self.bench.queue:
            return
        shown = self.bench.queue.peek_request()
        assert self.bench.queue.pop_request() is shown
        assert shown in self.waiting
        if skip:
            self.bench.queue.prepend_requests([shown])
        else:
            self.waiting.discard(shown)
            self.running.append(shown)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def preempt(self, data: st.DataObject) -> None:
        request = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        self.bench.queue.prepend_request(request)
        self.waiting.add(request)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def make_way(self, data: st.DataObject) -> None:
        request = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        self.bench.queue.yielding = request
        self.bench.queue.prepend_request(request)
        self.bench.queue.yielding = None
        assert request not in {entry.payload.request for entry in self.bench.core.topology.front()}
        self.waiting.add(request)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(sorted(self.waiting, key=lambda r: r.request_id)))
        self.bench.queue.remove_requests([gone, *self.running])
        self.waiting.discard(gone)

    @rule(topology=st.sampled_from(topology_names()))
    def swap(self, topology: str) -> None:
        self.bench.core.swap(topology, {}, self.now_s)
        self.bench.queue.begin_step(self.now_s, admits=True)

    @invariant()
    def everyone_is_somewhere(self) -> None:
        assert len(self.bench.queue) == len(self.waiting)
        assert {*self.bench.queue} == self.waiting
        assert self.bench.queue.fault is None


TestQueueMachine = QueueMachine.TestCase
