"""What every implementation of the port keeps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.admin.port import (
    ControlPort,
    PageQuery,
    RevisionConflictError,
    UnknownThingError,
    ViewQuery,
)
from hmas.daemon.wire import (
    BypassRequest,
    ControlsRequest,
    Horizon,
    OverrideKind,
    PinRequest,
)
from hmas.engine.clock import FakeClock
from tests.daemon.control.running import running_port

START_S = 1_790_000_000.0
PORTS: dict[str, Callable[[FakeClock], ControlPort]] = {
    "memory": lambda clock: MemoryPort(clock, ("engine0",), history_s=200),
    "daemon": running_port,
}


@pytest.fixture(params=sorted(PORTS))
def port(request: pytest.FixtureRequest, clock: FakeClock) -> ControlPort:
    return PORTS[request.param](clock)


async def test_status_names_every_engine_and_what_may_be_chosen(port: ControlPort) -> None:
    fleet = await port.status()
    assert [engine.engine_id for engine in fleet.engines] == ["engine0"]
    names = {topology.name for topology in port.topologies()}
    assert set(fleet.engines[0].topologies) <= names


async def test_a_pin_is_listed_with_its_owner_and_remaining_time(port: ControlPort) -> None:
    request = PinRequest(topology="edf", reason="because", duration_s=60)
    change = await port.pin(request, "ada")
    held = (await port.status()).overrides
    assert [override.id for override in held] == [change.override.id]
    assert held[0].owner == "ada"
    assert held[0].remaining_s == pytest.approx(60, abs=1)


async def test_the_newest_override_of_a_kind_replaces_the_one_before(port: ControlPort) -> None:
    await port.pin(PinRequest(topology="edf", reason="first try"), "ada")
    await port.pin(PinRequest(topology="sjf", reason="second try"), "bob")
    held = (await port.status()).overrides
    assert [override.topology for override in held] == ["sjf"]


async def test_kinds_and_targets_do_not_disturb_each_other(port: ControlPort) -> None:
    await port.pin(PinRequest(topology="edf", reason="because"), "ada")
    await port.pin(PinRequest(topology="sjf", engine_id="engine0", reason="because"), "ada")
    await port.set_controls(ControlsRequest(n_run=8, reason="because"), "ada")
    await port.set_bypass(BypassRequest(reason="because"), "ada")
    kinds = sorted(override.kind for override in (await port.status()).overrides)
    assert kinds == ["bypass", "controls", "pin", "pin"]


async def test_every_write_moves_the_revision_and_checks_it(port: ControlPort) -> None:
    before = (await port.status()).revision
    change = await port.set_bypass(BypassRequest(reason="because"), "ada")
    assert change.revision == (await port.status()).revision > before
    with pytest.raises(RevisionConflictError):
        await port.cancel(OverrideKind.BYPASS, change.override.id, "ada", before)
    with pytest.raises(RevisionConflictError):
        await port.pin(
            PinRequest(topology="edf", reason="because", expected_revision=before), "ada"
        )
    await port.cancel(OverrideKind.BYPASS, change.override.id, "ada", change.revision)
    assert (await port.status()).overrides == ()


async def test_cancelling_takes_the_right_kind_and_happens_once(port: ControlPort) -> None:
    change = await port.pin(PinRequest(topology="edf", reason="because"), "ada")
    with pytest.raises(UnknownThingError):
        await port.cancel(OverrideKind.BYPASS, change.override.id, "ada")
    await port.cancel(OverrideKind.PIN, change.override.id, "ada")
    with pytest.raises(UnknownThingError):
        await port.cancel(OverrideKind.PIN, change.override.id, "ada")


async def test_writes_are_audited_with_the_operator(port: ControlPort) -> None:
    await port.pin(PinRequest(topology="edf", reason="deadline misses"), "ada")
    newest = (await port.audit(PageQuery(limit=1)))[0]
    assert newest.actor == "ada"
    assert "deadline misses" in newest.sentence


async def test_an_override_ends_by_itself(port: ControlPort, clock: FakeClock) -> None:
    await port.pin(PinRequest(topology="edf", reason="because", duration_s=60), "ada")
    clock.advance(61)
    assert (await port.status()).overrides == ()


async def test_views_are_oldest_first_and_unknown_engines_are_refused(port: ControlPort) -> None:
    series = await port.views(ViewQuery("engine0", Horizon.SHORT, limit=50))
    moments = [point.at_s for point in series.short]
    assert moments == sorted(moments)
    with pytest.raises(UnknownThingError):
        await port.views(ViewQuery("nobody"))


async def test_pages_are_newest_first_and_bounded(port: ControlPort) -> None:
    for read in (port.decisions, port.directives, port.guard_events, port.audit):
        assert len(await read(PageQuery(limit=2))) <= 2
    moments = [row.at_s for row in await port.decisions(PageQuery())]
    assert moments == sorted(moments, reverse=True)
    older = await port.decisions(PageQuery(before_s=START_S - 10_000))
    assert older == []


async def test_an_unknown_request_is_refused(port: ControlPort) -> None:
    with pytest.raises(UnknownThingError):
        await port.request("never-seen")


async def test_health_and_metrics_answer(port: ControlPort) -> None:
    assert (await port.health()).storage.ok
    assert b"hmas_" in port.metrics()
