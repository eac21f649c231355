import time

import msgspec
import pytest

from hmas.engine.clock import FakeClock
from hmas.engine.directive import Controls, StepModel
from hmas.engine.events import Outcome, RequestArrived, RequestFinished, StepStats
from hmas.engine.simulator.batching import SimulatedEngine
from hmas.engine.simulator.profile import load_profile
from hmas.engine.simulator.virtual import Tick, run
from tests.engine.simulator.support import directive, profile, sim_request


def poisson(count, rate, seed=0):
    """A mixed workload; the pseudo-random numbers are those of a linear congruence."""
    state, now_s, requests = seed * 7919 + 12345, 0.0, []
    for number in range(count):
        state = (1103515245 * state + 12345) % 2**31
        now_s += (state % 2000) / 1000 / rate
        prompt, output = 16 + state % 900, 8 + (state >> 8) % 250
        requests.append(sim_request(f"r{number}", prompt, output, arrival_s=now_s))
    return requests


def replay(requests, ticks_of=lambda engine: (), used="a100-qwen3-8b", **options):
    clock, events = FakeClock(), []
    engine = SimulatedEngine(
        load_profile(used), clock, events.append, stock=options.pop("stock", False)
    )
    result = run(requests, engine, clock=clock, ticks=ticks_of(engine), **options)
    return result, events


def finished(events):
    return [event for event in events if isinstance(event, RequestFinished)]


def test_all_requests_arrive_and_finish():
    result, events = replay(poisson(300, 20))
    assert (result.submitted, result.unfinished, result.refused) == (300, 0, 0)
    assert sum(isinstance(event, RequestArrived) for event in events) == 300
    assert len({event.features.request_id for event in finished(events)}) == 300
    assert sum(event.steps for event in events if isinstance(event, StepStats)) == result.steps


def test_times_never_run_backwards():
    _, events = replay(poisson(200, 30))
    times = [event.at_s for event in events]
    assert times == sorted(times)


def test_same_input_same_bytes():
    def ticks(engine):
        topologies = iter(["edf", "sjf", "two_lane", "wfq", "fcfs"] * 100)
        versions = iter(range(1, 1000))
        return [
            Tick(
                0.5,
                lambda now_s: engine.handle(
                    directive(next(versions), next(topologies), controls=Controls(n_run=40))
                ),
            )
        ]

    first, second = (
        [msgspec.json.encode(event) for event in replay(poisson(300, 40), ticks)[1]]
        for _ in range(2)
    )
    assert first == second


def test_ticks_come_at_their_times_in_busy_and_in_idle_phases():
    requests = [sim_request("a", 10, 5), sim_request("b", 10, 5, arrival_s=3.0)]
    ticks: list[float] = []
    replay(requests, lambda engine: [Tick(0.25, ticks.append)])
    assert ticks[:12] == [pytest.approx(0.25 * n) for n in range(1, 13)]


def test_tick_sees_all_steps_before_it():
    seen, model = [], StepModel(base_ms=30, prefill_ms=0, context_ms=0, sequence_ms=0)
    clock, events = FakeClock(), []
    engine = SimulatedEngine(profile(model), clock, events.append, stats_every_s=1e9)

    def tick(now_s):
        seen.append(sum(event.steps for event in events if isinstance(event, StepStats)))

    run(
        [sim_request("a", 10, 100)], engine, clock=clock,
        ticks=[Tick(0.3, tick)],
    )  # fmt: skip
    assert seen[:3] == [9, 19, 29]


def test_a_run_can_end_early():
    result, events = replay(poisson(300, 50), until_s=2.0)
    assert result.ended_s == pytest.approx(2.0, abs=0.2)
    assert result.unfinished == result.submitted - len(finished(events))
    assert result.unfinished > 0


def test_request_that_never_fits_is_counted():
    result, events = replay([sim_request("a", 50_000, 10), sim_request("b", 10, 2)])
    assert (result.submitted, result.refused, result.unfinished) == (1, 1, 0)
    assert [event.outcome for event in finished(events)] == [Outcome.COMPLETED]


def test_stock_and_undirected_core_give_the_same_times():
    (_, stock), (_, core) = (replay(poisson(400, 40), stock=stock) for stock in (True, False))
    times = [
        [(e.features.request_id, e.ttft_s, e.tpot_s) for e in finished(events)]
        for events in (stock, core)
    ]
    assert times[0] == times[1]


def test_virtual_time_is_hundreds_of_times_faster_than_real_time():
    started_s = time.perf_counter()
    result, _ = replay(poisson(5000, 50))
    assert result.ended_s > 99
    assert time.perf_counter() - started_s < 100 / 20


def test_under_async_scheduling_a_request_misses_the_step_that_is_ready():
    """One step lasts 1 ms; the second request comes during the first one's first step."""
    requests = [sim_request("a", 8, 8), sim_request("b", 8, 1, arrival_s=0.0004)]
    first_token_ms = {}
    for asynchronous in (False, True):
        used = msgspec.structs.replace(profile(), async_scheduling=asynchronous)
        clock, events = FakeClock(), []
        engine = SimulatedEngine(used, clock, events.append, stock=True)
        result = run(requests, engine, clock=clock)
        assert (result.submitted, result.unfinished) == (2, 0)
        [event] = [e for e in finished(events) if e.features.request_id == "b"]
        first_token_ms[asynchronous] = round(event.at_s * 1000, 6)
    assert first_token_ms == {False: 2.0, True: 3.0}
