"""Health and metrics say what an operator should know, and nothing when all is well."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hmas.daemon.links import SequenceWatch
from hmas.engine.clock import FakeClock
from tests.daemon.control.running import Running


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    running = Running(FakeClock(1000.0))
    yield running
    await running.close()


async def test_all_is_well(running: Running) -> None:
    await running.cycle()
    report = running.health.report()
    assert report.ready
    assert report.problems == ()
    assert report.loops[0].runs == 1
    assert report.storage.kind == "memory"
    assert report.links[0].reachable


async def test_an_unreachable_engine_is_a_problem_but_the_daemon_is_ready(
    running: Running,
) -> None:
    running.link.unreachable = "no answer within 1 s"
    await running.cycle()
    report = running.health.report()
    assert report.ready
    assert report.problems == ("engine engine0 is unreachable: no answer within 1 s",)


async def test_no_engine_at_all_is_said_with_what_to_do(running: Running) -> None:
    running.fleet.remove("engine0")
    assert running.health.report().problems[0].startswith("no engine is known: start one")


async def test_a_stuck_loop_is_not_ready(running: Running) -> None:
    await running.cycle()
    running.clock.advance(10.0)
    report = running.health.report()
    assert not report.ready
    assert "loop cycle has not run" in report.problems[0]


async def test_losses_are_told_by_source(running: Running) -> None:
    await running.cycle()
    running.link.events.missed_batches = 4
    watch = SequenceWatch()
    watch.dropped_events = 9
    running.gateways.watches["gateway0"] = watch
    problems = running.health.report().problems
    assert "engine engine0: 4 event batches lost on the way, 0 events dropped" in problems[0]
    assert "gateway gateway0: 0 event batches lost on the way, 9 events dropped" in problems[1]


async def test_a_failing_loop_is_told(running: Running) -> None:
    await running.cycle()
    running.loops[0].stats.failures = 2
    running.loops[0].stats.last_error = "ValueError: x"
    assert running.health.report().problems == ("loop cycle failed 2 times, last: ValueError: x",)
