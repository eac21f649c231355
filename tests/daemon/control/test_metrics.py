"""Metrics read from the daemon's state at every scrape."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from hmas.controllers.decisions import Owner
from hmas.controllers.views import VShort
from hmas.daemon.links import SequenceWatch
from hmas.daemon.wire import BypassRequest, ControlsRequest
from hmas.engine.clock import FakeClock
from tests.daemon.control.running import Running
from tests.daemon.control.support import cycle_result


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


async def test_bounds_are_shown_while_they_hold(running: Running) -> None:
    await running.port.set_controls(
        ControlsRequest(n_run=5, token_budget=300, reason="thrashing"), "ada"
    )
    await running.cycle()
    found = samples(running)
    assert found["hmas_n_run[('engine', 'engine0')]"] == 5
    assert found["hmas_token_budget_tokens[('engine', 'engine0')]"] == 300
    await running.port.set_bypass(BypassRequest(reason="incident"), "ada")
    await running.cycle()
    found = samples(running)
    assert found["hmas_bypass[('engine', 'engine0')]"] == 1
    assert "hmas_n_run[('engine', 'engine0')]" not in found


async def test_losses_are_counted_by_source(running: Running) -> None:
    await running.cycle()
    running.link.events.missed_batches = 4
    watch = SequenceWatch()
    watch.dropped_events = 9
    running.gateways.watches["gateway0"] = watch
    found = samples(running)
    assert found["hmas_event_batches_lost_total[('kind', 'engine'), ('source', 'engine0')]"] == 4
    assert found["hmas_events_dropped_total[('kind', 'gateway'), ('source', 'gateway0')]"] == 9


async def test_an_empty_fleet_can_be_scraped(running: Running) -> None:
    running.fleet.remove("engine0")
    assert not [name for name in samples(running) if "engine0" in name]


async def test_an_engine_that_never_answered_is_down_and_has_no_numbers(running: Running) -> None:
    running.engine.controller = None
    found = samples(running)
    assert found["hmas_engine_up[('engine', 'engine0')]"] == 0
    assert "hmas_directive_version[('engine', 'engine0')]" not in found
    assert "hmas_bypass[('engine', 'engine0')]" not in found


async def test_views_come_in_base_units_with_the_model(running: Running) -> None:
    view = VShort(at_s=1.0, engine_id="engine0", waiting=7, ttft_p95_ms=250.0)
    running.engine.last_cycle = msgspec.structs.replace(cycle_result(), v_short=view)
    found = samples(running)
    labels = "[('engine', 'engine0'), ('model', 'tiny')]"
    assert found[f"hmas_queue_size{labels}"] == 7
    assert found[f"hmas_ttft_p95_seconds{labels}"] == 0.25


@pytest.mark.parametrize(
    ("owner", "bypassed"), [(Owner.BYPASS, 1), (Owner.KILL_SWITCH, 1), (Owner.PIN, 0)]
)
async def test_bypass_of_guard_and_operator_alike(
    running: Running, owner: Owner, bypassed: int
) -> None:
    running.engine.last_cycle = cycle_result(owner=owner)
    assert samples(running)["hmas_bypass[('engine', 'engine0')]"] == bypassed
