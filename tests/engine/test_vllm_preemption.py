from __future__ import annotations

from typing import Any

import pytest

from tests.engine.fake_vllm import FakeRequest, Status
from tests.engine.vllm_rig import Rig


def crowd(rig: Rig) -> list[FakeRequest]:
    """Four long requests that run for two seconds, and a directive to preempt."""
    assert rig.direct(1, "srtf", hints={"min_run_s": 1}, ttl_s=1000).accepted
    fields = {"predicted_output_tokens": 900, "predicted_tpot_ms": 50.0, "slo_tpot_ms": 1000.0}
    long = [rig.add(f"long{n}", **fields) for n in range(4)]
    for _ in range(20):
        rig.step()
    assert rig.scheduler.running == long
    return long


SHORT = {"predicted_output_tokens": 5, "predicted_tpot_ms": 50.0, "predicted_ttft_ms": 10.0}


def test_a_far_shorter_request_takes_the_slot_of_the_longest_and_gives_it_back() -> None:
    rig = Rig()
    long = crowd(rig)
    short = rig.add("short", **SHORT)
    assert rig.step() == ["short"]
    [victim] = [request for request in long if request not in rig.scheduler.running]
    assert (victim.num_preemptions, len(rig.scheduler.waiting)) == (1, 1)
    assert [request.request_id for request in rig.scheduler.waiting] == [victim.request_id]
    assert rig.step() == [], "no second victim"
    rig.scheduler.finish(rig.host, short, Status.FINISHED_STOPPED)
    assert rig.step() == [victim.request_id]
    assert rig.host.faults == 0


@pytest.mark.parametrize("obstacle", ["connector", "blocks", "old", "prefill"])
def test_whoever_cannot_be_preempted_safely_runs_on(obstacle: str) -> None:
    rig = Rig()
    long = crowd(rig)
    scheduler: Any = rig.scheduler
    if obstacle == "connector":
        scheduler.connector = object()
    elif obstacle == "blocks":
        scheduler._request_blocks_can_be_freed = lambda _: False
    elif obstacle == "old":
        rig.direct(2, "srtf", hints={"min_run_s": 60}, ttl_s=1000)
    else:
        scheduler._inflight_prefills.update(long)
    rig.add("short", **SHORT)
    assert rig.step() == []
    assert rig.scheduler.running == long
    assert rig.host.faults == 0


def test_a_preemption_that_fails_leaves_the_request_running_in_stock_order() -> None:
    rig = Rig()
    long = crowd(rig)

    def refuse(*_: Any) -> None:
        raise RuntimeError("not now")

    scheduler: Any = rig.scheduler
    scheduler._preempt_request = refuse
    rig.add("short", **SHORT)
    assert rig.step() == []
    assert rig.scheduler.running == long
    assert (rig.host.faults, rig.host.in_stock_order) == (1, True)
    assert [request.request_id for request in rig.scheduler.waiting] == ["short"]
