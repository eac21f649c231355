from __future__ import annotations

from typing import Any

import pytest

from hmas.engine.core import DOUBT_HOLD_S, ExecutionCore
from hmas.engine.directive import UNBOUNDED, Controls, StepModel
from hmas.engine.topologies import QueuedRequest, topology_names
from tests.engine.support import LIMITS, core, directive, features, names, queued


def test_a_fresh_core_is_plain_fcfs_without_bounds() -> None:
    made = core()
    assert made.topology.name == "fcfs"
    assert made.begin_step(0.0, running=0, decodes=0, context_tokens=0) == (64, 2048)
    assert not made.bypass
    assert made.describe().active is None


def test_a_directive_is_applied_at_once_and_acked() -> None:
    made = core()
    reply = made.apply(directive(7, "edf", controls=Controls(n_run=4, token_budget=64)), 0.0)
    assert (reply.accepted, reply.active_version, reply.topology) == (True, 7, "edf")
    assert made.begin_step(0.0, 2, 2, 0) == (4, 64)


def test_a_refused_directive_changes_nothing() -> None:
    made = core()
    made.apply(directive(1, "sjf", controls=Controls(n_run=8)), 0.0)
    before = (made.topology, made.controls, made.directive)
    for bad in (
        directive(2, "magic"),
        directive(2, "edf", controls=Controls(n_run=1000)),
        directive(2, "two_lane", hints={"gate_period": 0}),
    ):
        reply = made.apply(bad, 0.0)
        assert not reply.accepted
        assert reply.reason
        assert reply.active_version == 1
    assert before == (made.topology, made.controls, made.directive)


def test_a_directive_for_another_engine_is_refused() -> None:
    other = core()
    other.identity = other.identity._replace(engine_id="other")
    reply = other.apply(directive(1, "edf"), 0.0)
    assert not reply.accepted
    assert "'e'" in reply.reason


def test_a_stale_version_is_acked_with_the_active_one() -> None:
    made = core()
    made.apply(directive(5, "edf"), 0.0)
    reply = made.apply(directive(4, "sjf"), 0.0)
    assert (reply.accepted, reply.active_version, reply.topology) == (True, 5, "edf")


def test_a_lost_lease_ends_in_bypass_and_its_renewal_ends_that() -> None:
    made = core()
    active = directive(1, "edf", controls=Controls(n_run=2))
    made.apply(active, 0.0)
    made.begin_step(4.9, 0, 0, 0)
    assert not made.bypass
    made.apply(active, 4.9)
    made.begin_step(9.8, 0, 0, 0)
    assert not made.bypass
    assert made.begin_step(10.0, 0, 0, 0) == (64, 2048)
    assert made.bypass
    assert made.lease_expired
    assert made.topology.name == "fcfs"
    assert made.apply(active, 11.0).topology == "edf"
    assert not made.bypass
    assert made.begin_step(11.0, 0, 0, 0).n_run == 2


def test_a_stale_version_does_not_renew_the_lease() -> None:
    made = core()
    made.apply(directive(2, "edf"), 0.0)
    made.apply(directive(1, "edf"), 4.0)
    assert made.check_lease(5.1)


def test_bypass_is_fcfs_without_bounds() -> None:
    made = core()
    made.apply(directive(1, "edf", controls=Controls(n_run=1), bypass=True), 0.0)
    assert made.topology.name == "fcfs"
    assert made.controls is UNBOUNDED
    assert made.bypass


def test_a_doubt_keeps_stock_order_for_a_while() -> None:
    made = core()
    made.apply(directive(1, "edf"), 0.0)
    made.add(queued(), 0.0)
    made.fall_back("queue lost count", 10.0)
    assert made.topology.name == "fcfs"
    assert len(made) == 1
    refused = made.apply(directive(2, "sjf"), 11.0)
    assert "queue lost count" in refused.reason
    assert made.describe().doubt == "queue lost count"
    assert made.apply(directive(3, "sjf"), 11.0 + DOUBT_HOLD_S).accepted
    assert not made.bypass


@pytest.mark.parametrize("name", topology_names())
def test_a_swap_keeps_everyone_and_those_given_back_stay_first(name: str) -> None:
    made = core()
    waiting = [queued(f"r{i}", slo_ttft_ms=1000 + i, prompt_tokens=i + 1) for i in range(30)]
    for request in waiting:
        made.add(request, 0.0)
    runner = made.head(0.0)
    assert runner is not None
    made.start(runner)
    made.requeue(runner)
    made.swap(name, {}, 0.0)
    ordered = list(made.waiting(0.0))
    assert ordered[0] is runner
    assert set(ordered) == set(waiting)


def test_swapping_there_and_back_restores_the_order_of_arrival() -> None:
    made = core()
    for index in range(20):
        made.add(queued(f"r{index}", slo_ttft_ms=2000 - index), 0.0)
    for name in ("edf", "two_lane", "wfq", "sjf", "fcfs"):
        made.swap(name, {}, 0.0)
    assert names(made.waiting(0.0)) == [f"r{i}" for i in range(20)]
    assert made.swaps == 5


def test_the_same_topology_again_is_no_swap() -> None:
    made = core()
    made.apply(directive(1, "edf"), 0.0)
    made.apply(directive(2, "edf", controls=Controls(n_run=3)), 0.0)
    assert made.swaps == 1
    made.apply(directive(3, "edf", hints={"first_token": 1}), 0.0)
    assert made.swaps == 2


def test_a_blocked_head_is_passed_a_bounded_number_of_times_and_then_runs_alone() -> None:
    made = core()
    made.apply(directive(1, "fcfs", controls=Controls(fence={0: 0}, kv_margin=0.9)), 0.0)
    small = {"prompt_tokens": 16, "predicted_output_tokens": 16}
    first = queued("first", **small)
    made.add(first, 0.0)
    made.start(first)
    huge = queued("huge", prompt_tokens=3000, predicted_output_tokens=1000)
    made.add(huge, 0.0)
    passed = 0
    for index in range(100):
        made.add(queued(f"s{index}", **small), 0.0)
    while (request := made.head(0.0)) is not None:
        assert request is not huge
        made.start(request)
        made.remove(request)
        passed += 1
    assert passed == 16
    made.remove(first)
    assert made.head(0.0) is huge


def test_running_requests_are_counted_once() -> None:
    made = core()
    request = queued()
    made.add(request, 0.0)
    made.start(request)
    assert (made.running, len(made)) == (1, 0)
    made.requeue(request)
    assert (made.running, len(made)) == (0, 1)
    assert made.remove(request)
    assert not made.remove(request)
    assert made.fence.booked_blocks == 0


def test_lateness_counts_the_prefill_still_to_do() -> None:
    made = core()
    model = StepModel(base_ms=10, prefill_ms=1, context_ms=0, sequence_ms=0)
    made.apply(directive(1, "edf", controls=Controls(step_model=model)), 0.0)
    request = made.queued(features(prompt_tokens=490, slo_ttft_ms=1000))
    assert request.late_at_s == pytest.approx(0.5)


def test_the_description_tells_what_the_engine_is() -> None:
    description = core().describe()
    assert description.limits == LIMITS
    assert description.topologies == list(topology_names())


def test_a_host_can_hand_its_queue_over_and_take_it_back() -> None:
    made = core()
    made.swap("sjf", {}, 0.0)
    preempted, *rest = [queued(str(n), predicted_tpot_ms=10.0 - n) for n in range(4)]
    made.load([preempted], rest, 0.0)
    assert names(made.waiting(0.0)) == ["0", "3", "2", "1"]
    assert names(made.drain()) == ["0", "1", "2", "3"]
    assert len(made) == 0
    made.load([], rest, 0.0)
    assert len(made) == 3


def test_bookings_end_when_nothing_runs() -> None:
    made = core()
    request = queued()
    made.started(request)
    assert made.runs(request)
    assert made.fence.booked_blocks > 0
    made.stop_all()
    assert not made.runs(request)
    assert made.fence.booked_blocks == 0
    assert made.budget.allowed_ms(1.0) is None


def test_an_abandoned_core_is_in_doubt_and_holds_nothing() -> None:
    made = core()
    made.apply(directive(1, "edf", controls=Controls(n_run=2, fence={0: 10})), 0.0)
    waiting, running = queued("w"), queued("r")
    made.add(waiting, 0.0)
    made.started(running)
    made.abandon("broken", 0.0)
    assert (made.topology.name, len(made), made.running) == ("fcfs", 0, 0)
    assert (made.bypass, made.describe().doubt) == (True, "broken")
    assert made.begin_step(0.0, 1, 1, 0) == (64, 2048)
    assert not made.apply(directive(2, "edf"), 1.0).accepted
    assert made.apply(directive(3, "edf"), DOUBT_HOLD_S + 1).accepted


def test_a_repeated_version_renews_what_was_accepted_whatever_it_says() -> None:
    made = core()
    made.apply(directive(1, "edf", controls=Controls(n_run=2)), 0.0)
    assert made.check_lease(6.0)
    other = directive(1, "sjf", hints={"aging_every": 0}, controls=Controls(n_run=5000))
    assert made.apply(other, 6.0).accepted
    assert (made.topology.name, made.controls.n_run) == ("edf", 2)
    assert not made.lease_expired
    assert not made.check_lease(10.0)
    assert made.check_lease(11.5)


def full(hints: dict[str, float] | None = None, **controls: Any) -> ExecutionCore:
    """Two long requests hold both slots since t = 0; a minute of each is left now, at t = 10."""
    held: dict[QueuedRequest, int] = {}
    made = core(tokens_of=lambda r: r.features.prompt_tokens + held.get(r, 0))
    controls_of = Controls(n_run=2, **controls)
    made.apply(directive(1, "srtf", hints=hints or {}, controls=controls_of, ttl_s=100), 0.0)
    made.begin_step(0.0, 0, 0, 0)
    for name, output in (("long", 700), ("longest", 800)):
        fields = {"predicted_output_tokens": output, "predicted_tpot_ms": 100.0}
        request = queued(name, slo_tpot_ms=1000.0, predicted_ttft_ms=100.0, **fields)
        made.add(request, 0.0)
        made.start(request)
        held[request] = 100
    for step in range(101):
        made.begin_step(step / 10, 2, 2, 400)
    return made


def short(name: str = "short", **fields: Any) -> QueuedRequest:
    fields = {"predicted_output_tokens": 20, "arrival_s": 10.0, **fields}
    return queued(name, predicted_tpot_ms=100.0, predicted_ttft_ms=100.0, **fields)


def test_the_longest_rest_yields_to_a_far_shorter_request() -> None:
    made = full()
    made.add(short(), 10.0)
    victim = made.victim(10.0, running=2)
    assert victim is not None
    assert victim.features.request_id == "longest"
    made.yielded(victim, 10.0)
    assert (victim.produced, victim.preempted, made.running) == (100, 1, 1)
    assert names(made.waiting(10.0)) == ["short", "longest"]
    assert not made.topology.front()


@pytest.mark.parametrize(
    ("hints", "fields", "running"),
    [
        ({}, {}, 1),
        ({"max_preemptions": 0}, {}, 2),
        ({"min_run_s": 60}, {}, 2),
        ({"hysteresis": 100}, {}, 2),
        ({}, {"predicted_output_tokens": 590}, 2),
        ({}, {"arrival_s": 0.0, "slo_ttft_ms": 1000}, 2),
    ],
    ids=["a free slot", "forbidden", "just begun", "not far shorter", "as long", "late"],
)
def test_nobody_yields(hints: dict[str, float], fields: dict[str, Any], running: int) -> None:
    made = full(hints)
    made.add(short(**fields), 10.0)
    assert made.victim(10.0, running) is None


def test_other_topologies_never_preempt() -> None:
    made = full()
    made.swap("sjf", {}, 10.0)
    made.add(short(), 10.0)
    assert made.victim(10.0, running=2) is None


def test_a_request_yields_a_bounded_number_of_times() -> None:
    made = full()
    made.add(short(), 10.0)
    for preempted in (made.victim(10.0, 2), made.victim(10.0, 2)):
        if preempted is not None and made.runs(preempted):
            made.yielded(preempted, 10.0)
            made.start(preempted)
    first = made.victim(30.0, 2)
    assert first is None or first.preempted == 0


def test_recomputing_must_cost_less_than_it_saves() -> None:
    slow = StepModel(base_ms=100.0, prefill_ms=1000.0, context_ms=0.0, sequence_ms=0.0)
    for model, yields in ((slow, False), (None, True)):
        made = full(step_model=model)
        made.add(short(prompt_tokens=1, length_bucket=0), 10.0)
        assert (made.victim(10.0, running=2) is not None) == yields


def test_cfs_is_told_the_tokens_that_came_out() -> None:
    made = core(tokens_of=lambda _: 100 + 2000)
    made.swap("cfs", {"aging_every": 1000}, 0.0)
    for tenant in ("long", "other"):
        for index in range(9):
            made.add(queued(f"{tenant}{index}", tenant=tenant), 0.0)
    request = made.head(0.0)
    assert request is not None
    made.start(request)
    made.remove(request)
    following = [made.topology.pop(0.0).features.tenant for _ in range(6)]
    assert following == ["other"] * 6
