"""Health and metrics say what an operator should know, and nothing when all is well."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hmas.daemon.links import SequenceWatch
from hmas.engine.clock import FakeClock
from tests.daemon.control.running import Running


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    running = Running(FakeClock(1000.0))
    yield running
    await running.close()


def samples(running: Running) -> dict[str, float]:
    """Every sample by its name and labels."""
    families = text_string_to_metric_families(running.health.metrics().decode())
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in families
        for sample in family.samples
    }


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


async def test_metrics_hold_what_dashboards_need(running: Running) -> None:
    running.executor.refusals["not_json"] = 3
    await running.cycle()
    found = samples(running)
    engine = "[('engine', 'engine0')]"
    assert found[f"hmas_engine_up{engine}"] == 1
    assert found[f"hmas_directive_version{engine}"] == 1
    assert found[f"hmas_bypass{engine}"] == 0
    topology = running.link.core.topology.name
    assert found[f"hmas_topology_info[('engine', 'engine0'), ('topology', '{topology}')]"] == 1
    assert found["hmas_config_reload_total[('result', 'done')]"] == 1
    assert found["hmas_meta_refusals_total[('kind', 'not_json')]"] == 3
    assert found["hmas_loop_runs_total[('loop', 'cycle')]"] == 1
    assert "hmas_storage_pending_records[]" in found


async def test_what_was_not_measured_has_no_sample(running: Running) -> None:
    await running.cycle()
    assert not [name for name in samples(running) if name.startswith("hmas_ttft_p95")]
