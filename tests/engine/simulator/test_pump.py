import asyncio
import threading

import pytest

from hmas.engine.clock import SystemClock
from hmas.engine.directive import StepModel
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.simulator.batching import RefusedRequestError, SimulatedEngine
from hmas.engine.simulator.pump import MAX_LAG_S, EnginePump, Stream
from tests.engine.simulator.support import profile, sim_request

FAST = StepModel(base_ms=0.2, prefill_ms=0, context_ms=0, sequence_ms=0)


@pytest.fixture
async def pump():
    events = []
    engine = SimulatedEngine(profile(FAST), SystemClock(), events.append)
    pump = EnginePump(engine, threading.RLock())
    pump.events = events
    async with asyncio.TaskGroup() as group:
        task = group.create_task(pump.run())
        yield pump
        task.cancel()


async def test_handlers_wake_while_tokens_come_out_and_at_the_end(pump):
    stream = Stream(each_token=True)
    sequence = pump.submit(sim_request("a", 10, 30), stream)
    seen = []
    while not await stream.progress():
        seen.append(pump.engine.output_tokens(sequence))
    assert seen == sorted(seen)
    assert len(seen) > 1
    assert pump.engine.output_tokens(sequence) == 30


async def test_whole_answers_wake_once(pump):
    stream = Stream(each_token=False)
    sequence = pump.submit(sim_request("a", 10, 30), stream)
    assert await stream.progress()
    assert pump.engine.output_tokens(sequence) == 30
    assert await stream.progress()


async def test_many_at_once_all_finish(pump):
    streams = [Stream(each_token=False) for _ in range(50)]
    for number, stream in enumerate(streams):
        pump.submit(sim_request(f"r{number}", 10, 1 + number % 7), stream)
    await asyncio.gather(*[stream.progress() for stream in streams])
    assert not pump.engine.has_work


async def test_refused_requests_do_not_disturb_it(pump):
    with pytest.raises(RefusedRequestError):
        pump.submit(sim_request("a", 1000, 5), Stream(each_token=False))
    stream = Stream(each_token=False)
    pump.submit(sim_request("b", 10, 2), stream)
    assert await stream.progress()


async def test_shutting_down_ends_everything_as_aborted(pump):
    for number in range(6):
        pump.submit(sim_request(f"r{number}", 10, 200), Stream(each_token=False))
    assert pump.engine.begin() is not None
    pump.abort_all()
    assert not pump.engine.has_work
    outcomes = [event.outcome for event in pump.events if isinstance(event, RequestFinished)]
    assert outcomes == [Outcome.ABORTED] * 6


def test_lateness_is_made_up_for_but_not_without_end():
    pump = EnginePump(
        SimulatedEngine(profile(), SystemClock(), lambda event: None), threading.RLock()
    )
    assert pump.due_s(10.0, 10.1) == 10.0
    assert pump.lag_s == 0
    assert pump.due_s(10.0, 10.0 + MAX_LAG_S + 1.0) == 10.0 + MAX_LAG_S + 1.0
    assert pump.lag_s == pytest.approx(1.0)
