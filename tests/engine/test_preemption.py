from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.directive import StepModel
from hmas.engine.preemption import Pace, Preemption, RunningRests, Swap
from hmas.engine.topologies import topology_class
from tests.engine.support import names, queued

HINTS = topology_class("srtf").checked_hints({})


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50)), max_size=40))
def test_rests_are_ordered_by_predicted_end(events: list[tuple[int, int]]) -> None:
    rests, ends = RunningRests(), dict[str, int]()
    requests = {name: queued(name) for name in map(str, range(6))}
    for step, (number, length) in enumerate(events):
        name = str(number)
        requests[name] = queued(name, predicted_output_tokens=length)
        if name in ends:
            rests.stop(requests[name])
        rests.start(requests[name], step, 0.0)
        ends[name] = step + max(1, length)
        for other in [stay.request for stay in rests.longest()]:
            if other is not requests[other.features.request_id]:
                rests.stop(other)
        assert [stay.end_step for stay in rests.longest()] == sorted(ends.values(), reverse=True)
        later = [end - step for end in ends.values() if end > step]
        assert rests.steps_to_next_end(step) == min(later, default=math.inf)


def test_stopping_what_does_not_run_is_ignored() -> None:
    rests = RunningRests()
    rests.stop(queued())
    assert list(rests.longest()) == []


def test_a_swap_pays_when_nobody_would_leave_before_both_are_served() -> None:
    assert Swap(challenger_s=1, rest_s=10, recompute_s=1, wait_s=5).pays(4)
    assert not Swap(challenger_s=1, rest_s=3, recompute_s=1, wait_s=5).pays(4)
    assert not Swap(challenger_s=1, rest_s=10, recompute_s=4, wait_s=5).pays(4)
    assert not Swap(challenger_s=0, rest_s=0, recompute_s=0, wait_s=0).pays(4)


def test_a_victim_that_would_miss_its_deadline_by_it_is_spared() -> None:
    victim = queued(slo_ttft_ms=1000, slo_tpot_ms=100, predicted_output_tokens=100)
    swap = Swap(challenger_s=1, rest_s=5, recompute_s=1, wait_s=9)
    assert not swap.spoils(victim, now_s=3.0), "11 - 3 - 5 leaves 3 seconds, it takes 2"
    assert swap.spoils(victim, now_s=4.5)
    assert not swap.spoils(victim, now_s=7.0), "lost anyway"


def test_the_step_model_knows_better_than_predictions() -> None:
    model = StepModel(base_ms=10, prefill_ms=1, context_ms=0, sequence_ms=2)
    request = queued(prompt_tokens=100, predicted_ttft_ms=50, predicted_tpot_ms=7)
    assert Pace(model, 0, 5).prefill_s(request, 300) == 0.3
    assert Pace(model, 0, 5).decode_s(request, 10) == 0.2
    assert Pace(None, 0, 5).prefill_s(request, 300) == 0.15
    assert Pace(None, 0, 5).decode_s(request, 10) == 0.07


def test_victims_are_past_their_prompt_and_the_longest_comes_first() -> None:
    produced = {"prompt": 0, "short": 10, "long": 10}
    preemption = Preemption(lambda request: produced[request.features.request_id])
    for name, length in (("short", 500), ("prompt", 900), ("long", 800)):
        preemption.start(
            queued(name, predicted_output_tokens=length, predicted_tpot_ms=100, slo_tpot_ms=999)
        )
    preemption.begin_step(10, 5.0, Pace(None, 0, 3))
    challenger = queued("c", arrival_s=5.0, predicted_output_tokens=5, predicted_tpot_ms=100)
    assert names(preemption.victims(challenger, HINTS)) == ["long", "short"]
