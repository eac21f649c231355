from __future__ import annotations

from typing import Any

import pytest

from hmas.engine.core import DOUBT_HOLD_S
from hmas.engine.directive import (
    Controls,
    StepModel,
)
from hmas.engine.events import (
    Outcome,
    RequestArrived,
    RequestFinished,
    RequestFirstToken,
    StepStats,
)
from hmas.engine.vllm_host import MAX_FAULTS
from tests.engine.fake_vllm import FakeQueue, Status
from tests.engine.vllm_rig import Rig


def test_without_a_directive_it_only_watches() -> None:
    rig = Rig()
    queue = rig.scheduler.waiting
    for number in range(6):
        rig.add(str(number))
    assert rig.step() == ["0", "1", "2", "3"]
    assert rig.scheduler.waiting is queue
    assert rig.is_stock
    assert rig.describe().active is None


def test_a_topology_orders_what_already_waits_and_fcfs_puts_the_stock_queue_back() -> None:
    rig = Rig()
    for number in range(8):
        rig.add(str(number), predicted_tpot_ms=10.0 - number)
    assert rig.step() == ["0", "1", "2", "3"]
    assert rig.direct(1, "sjf").accepted
    assert not rig.host.in_stock_order
    rig.scheduler.finish(rig.host, rig.scheduler.running[0], Status.FINISHED_STOPPED)
    assert rig.step() == ["7"]
    assert rig.direct(2, "fcfs").accepted
    assert rig.is_stock
    assert [request.request_id for request in rig.scheduler.waiting] == ["4", "5", "6"]


def test_controls_hold_from_the_next_step_and_vanish_with_the_directive() -> None:
    rig = Rig()
    for number in range(4):
        rig.add(str(number))
    rig.direct(1, "fcfs", controls=Controls(n_run=2, token_budget=210))
    assert rig.step() == ["0", "1"]
    assert rig.scheduler.max_num_scheduled_tokens == 210
    rig.direct(2, "fcfs")
    assert rig.step() == ["2", "3"]
    assert rig.is_stock


def test_the_budget_never_starves_what_decodes() -> None:
    rig = Rig()
    for number in range(4):
        rig.add(str(number))
    rig.step()
    rig.direct(1, "fcfs", controls=Controls(token_budget=1))
    rig.step()
    assert rig.scheduler.max_num_scheduled_tokens == 5


def test_prompts_in_progress_go_behind_decodes_while_the_budget_is_bounded() -> None:
    rig = Rig()
    requests = [rig.add(str(number)) for number in range(3)]
    rig.step()
    rig.scheduler._inflight_prefills.add(requests[0])
    rig.step()
    assert rig.scheduler.running == requests
    rig.direct(1, "fcfs", controls=Controls(token_budget=100))
    rig.step()
    assert rig.scheduler.running == [requests[1], requests[2], requests[0]]


def test_the_step_budget_follows_the_tightest_target_that_runs() -> None:
    rig = Rig()
    model = StepModel(base_ms=5.0, prefill_ms=0.5, context_ms=0.0, sequence_ms=0.0)
    rig.direct(1, "fcfs", controls=Controls(step_model=model, tpot_guard=1.0), ttl_s=1000)
    rig.add("tight", slo_tpot_ms=25.0)
    rig.step()
    rig.step()
    assert rig.scheduler.max_num_scheduled_tokens == 1 + 40
    rig.scheduler.finish(rig.host, rig.scheduler.running[0], Status.FINISHED_STOPPED)
    rig.step()
    assert rig.scheduler.max_num_scheduled_tokens == 256


def test_the_fence_holds_back_what_does_not_fit() -> None:
    rig = Rig()
    rig.direct(1, "fcfs", controls=Controls(fence={0: 0}))
    for number in range(3):
        rig.add(str(number), prompt_tokens=160, predicted_output_tokens=560)
        rig.scheduler.requests[str(number)].max_tokens = 560
    assert rig.step() == ["0", "1"]
    assert rig.step() == []
    rig.scheduler.finish(rig.host, rig.scheduler.running[0], Status.FINISHED_STOPPED)
    assert rig.step() == ["2"]


def test_a_preempted_request_comes_first_and_books_anew() -> None:
    rig = Rig()
    rig.direct(1, "sjf", controls=Controls(fence={0: 0}))
    for number in range(5):
        rig.add(str(number), predicted_tpot_ms=1.0 + number)
    rig.step()
    booked = rig.host.core.fence.booked_blocks
    rig.scheduler.preempt(rig.host, rig.scheduler.running[-1])
    assert rig.host.core.fence.booked_blocks < booked
    assert rig.step() == ["3"]
    assert rig.host.core.fence.booked_blocks >= booked


def test_a_lost_lease_restores_stock_vllm_also_when_idle() -> None:
    rig = Rig()
    rig.direct(1, "edf", controls=Controls(n_run=2, fence={0: 10}), ttl_s=5.0)
    rig.host.tick()
    assert rig.of(StepStats)[-1].n_run == 2
    rig.add("a")
    rig.clock.advance(6.0)
    rig.host.tick()
    assert isinstance(rig.scheduler.waiting, FakeQueue)
    assert len(rig.scheduler.waiting) == 1
    description = rig.describe()
    assert description.lease_expired
    assert rig.step() == ["a"]
    assert rig.is_stock
    rig.host.tick()
    stats = rig.of(StepStats)[-1]
    assert (stats.bypass, stats.lease_expired, stats.topology) == (True, True, "fcfs")
    assert rig.direct(1, "edf", controls=Controls(n_run=2, fence={0: 10})).accepted
    assert not rig.host.in_stock_order, "a renewal ends the bypass"


def test_a_refused_directive_touches_nothing() -> None:
    rig = Rig()
    for controls in (
        Controls(n_run=5),
        Controls(token_budget=257),
        Controls(fence={}),
        Controls(kv_margin=0.95),
    ):
        reply = rig.direct(1, "edf", controls=controls)
        assert not reply.accepted
        assert reply.reason
    assert not rig.direct(1, "nonsense").accepted
    assert rig.is_stock


def test_the_truth_about_each_request_is_published() -> None:
    rig = Rig()
    done, aborted = rig.add("done"), rig.add("aborted")
    arrived = [event.features.request_id for event in rig.of(RequestArrived)]
    assert arrived == ["done", "aborted"]
    rig.step(0.5)
    (first, second) = rig.of(RequestFirstToken)
    assert (first.request_id, first.ttft_s, first.queue_s) == ("done", 0.5, 0.5)
    rig.step(0.5)
    rig.step(0.5)
    rig.scheduler.finish(rig.host, done, Status.FINISHED_STOPPED)
    waiting = rig.add("never ran")
    rig.clock.advance(2.0)
    rig.scheduler.finish(rig.host, aborted, Status.FINISHED_ABORTED)
    rig.scheduler.finish(rig.host, waiting, Status.FINISHED_ABORTED)
    ended = rig.of(RequestFinished)
    assert [event.outcome for event in ended] == [
        Outcome.COMPLETED,
        Outcome.ABORTED,
        Outcome.ABORTED,
    ]
    assert (ended[0].output_tokens, ended[0].tpot_s) == (3, pytest.approx(0.5))
    assert (ended[2].output_tokens, ended[2].queue_s) == (0, 2.0)
    assert len(rig.host.ledger) == 0
    assert second.request_id == "aborted"


def test_steps_are_reported_merged_with_what_they_held() -> None:
    rig = Rig()
    rig.add("a", prompt_tokens=20)
    rig.add("b", prompt_tokens=30)
    rig.step()
    rig.step()
    rig.host.tick()
    stats = rig.of(StepStats)[-1]
    assert (stats.steps, stats.step, stats.running, stats.sequences) == (2, 2, 2, 4)
    assert (stats.prefill_tokens, stats.decode_tokens) == (50, 2)
    assert stats.context_tokens == 50 + 52
    assert stats.kv_used == 0.25
    rig.scheduler.preempt(rig.host, rig.scheduler.running[1])
    rig.host.tick()
    assert len(rig.of(StepStats)) == 1, "nothing new within the second"
    rig.step()
    rig.host.tick()
    stats = rig.of(StepStats)[-1]
    assert (stats.preemptions, stats.prefill_tokens, stats.context_tokens) == (1, 32, 22 + 32)


def test_context_is_recounted_now_and_then() -> None:
    rig = Rig()
    rig.add("a")
    rig.step()
    rig.host.ledger.context_tokens = 10**9
    for _ in range(300):
        rig.step()
    assert rig.host.ledger.context_tokens == rig.scheduler.running[0].num_computed_tokens


def test_a_running_engine_does_not_wait_for_a_tick() -> None:
    rig = Rig()
    rig.host.tick()
    with rig.host.lock:
        rig.host.tick()
    assert len(rig.of(StepStats)) == 1


class Broken:
    """A part of ours that fails at every use."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("broken part")


@pytest.mark.parametrize("part", ["budget", "fence", "topology"])
def test_any_fault_of_ours_ends_in_stock_order_and_loses_nobody(part: str) -> None:
    rig = Rig()
    rig.direct(1, "sjf", controls=Controls(n_run=2, token_budget=100, fence={0: 0}), ttl_s=1000)
    for number in range(6):
        rig.add(str(number), predicted_tpot_ms=10.0 - number, prompt_tokens=10)
    assert rig.step() == ["5", "4"]
    setattr(rig.host.core, part, Broken())
    rig.step()
    started = rig.step()
    assert rig.host.faults >= 1
    assert rig.is_stock
    assert len(rig.scheduler.running) == 4
    assert len(rig.scheduler.waiting) == 2
    assert started in ([], ["0", "1"])
    assert "broken part" in rig.describe().doubt
    assert not rig.direct(2, "edf", ttl_s=1000).accepted
    rig.clock.advance(DOUBT_HOLD_S + 1)
    assert rig.direct(3, "edf", controls=Controls(fence={0: 0}), ttl_s=1000).accepted
    assert rig.describe().doubt == ""
    assert rig.host.core.running == 4, "what runs is booked again"


def test_after_too_many_faults_it_stays_out_of_the_way() -> None:
    rig = Rig()
    rig.host.core.begin_step = None  # type: ignore[method-assign,assignment]
    for number in range(MAX_FAULTS + 5):
        rig.add(str(number))
        rig.step()
    assert rig.host.faults == MAX_FAULTS
    assert rig.is_stock
    reply = rig.direct(1, "edf")
    assert not reply.accepted
    assert "gave up" in reply.reason
    for request in list(rig.scheduler.running):
        rig.scheduler.finish(rig.host, request, Status.FINISHED_STOPPED)
    rig.step()


def test_a_fault_while_applying_is_a_refusal() -> None:
    rig = Rig()
    rig.add("a")
    rig.host._make_queue = None  # type: ignore[assignment]
    rig.scheduler.waiting = None
    reply = rig.direct(1, "edf")
    assert not reply.accepted
    assert "internal fault" in reply.reason


def test_the_limits_are_those_vllm_was_started_with() -> None:
    limits = Rig().describe().limits
    assert (limits.max_num_seqs, limits.max_num_batched_tokens) == (4, 256)
    assert (limits.kv_blocks, limits.block_size, limits.max_model_len) == (100, 16, 1024)
