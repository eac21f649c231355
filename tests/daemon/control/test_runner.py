"""Loops: failures are counted, lateness is measured, nothing runs twice at once."""

from __future__ import annotations

import asyncio

from hmas.daemon.control.health import is_late
from hmas.daemon.control.runner import Loop, LoopStats, Runner
from hmas.engine.clock import FakeClock, SystemClock
from tests.daemon.control.support import until


async def test_a_failure_is_counted_and_the_next_run_goes_on() -> None:
    calls: list[float] = []

    async def body(now_s: float) -> None:
        calls.append(now_s)
        if len(calls) == 1:
            raise RuntimeError("database is locked")

    loop = Loop("cycle", 1.0, body, FakeClock(5.0))
    await loop.run_once()
    await loop.run_once()
    assert calls == [5.0, 5.0]
    assert (loop.stats.runs, loop.stats.failures) == (2, 1)
    assert loop.stats.last_error == "RuntimeError: database is locked"


async def test_lateness_is_measured() -> None:
    async def body(_: float) -> None:
        return

    loop = Loop("cycle", 0.01, body, FakeClock())
    await loop.run_once()
    assert loop.stats.lag_s == 0.0
    await asyncio.sleep(0.1)
    await loop.run_once()
    assert 0.05 < loop.stats.lag_s < 5.0


async def test_a_slow_run_is_never_doubled() -> None:
    inside = 0
    most = 0

    async def body(_: float) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.05)
        inside -= 1

    runner = Runner([Loop("cycle", 0.01, body, SystemClock(), first_s=0.0)])
    runner.start()
    try:
        await until(lambda: runner.loops["cycle"].stats.runs >= 4, "four runs")
    finally:
        runner.stop()
    assert most == 1


async def test_an_interval_can_change_while_running() -> None:
    async def body(_: float) -> None:
        return

    runner = Runner([Loop("cycle", 3600.0, body, SystemClock())])
    runner.start()
    try:
        runner.change_interval("cycle", 0.01)
        await until(lambda: runner.loops["cycle"].stats.runs >= 2, "runs at the new interval")
    finally:
        runner.stop()
        runner.stop()
    assert runner.loops["cycle"].stats.interval_s == 0.01


def test_late_means_much_longer_than_the_interval() -> None:
    stats = LoopStats("cycle", 0.25, last_run_s=100.0)
    assert not is_late(stats, 102.9)
    assert is_late(stats, 103.1)
    assert not is_late(LoopStats("cycle", 0.25), 1e9)
