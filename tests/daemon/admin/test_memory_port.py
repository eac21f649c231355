"""The invented fleet is plausible, moves with its clock, and says that it is invented."""

from __future__ import annotations

from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.admin.port import PageQuery, ViewQuery
from hmas.daemon.wire import BypassRequest, ControlsRequest, PinRequest
from hmas.engine.clock import FakeClock


async def test_it_says_that_it_is_invented(port: MemoryPort) -> None:
    assert (await port.status()).demo


async def test_the_same_seed_gives_the_same_past(clock: FakeClock) -> None:
    one, other = (MemoryPort(clock, history_s=120) for _ in range(2))
    query = ViewQuery("demo-0")
    assert await one.views(query) == await other.views(query)


async def test_precedence_is_bypass_then_pin_then_meta(port: MemoryPort, clock: FakeClock) -> None:
    await port.pin(PinRequest(topology="sjf", reason="because"), "ada")
    bypass = await port.set_bypass(
        BypassRequest(reason="incident", engine_id="demo-0", duration_s=30), "bob"
    )
    await port.set_controls(ControlsRequest(n_run=40, reason="because"), "ada")
    clock.advance(2)
    first, second = (await port.status()).engines
    assert (first.bypass, first.owner, first.set_by) == (True, "operator", "bob")
    assert (second.topology, second.owner, second.n_run) == ("sjf", "pin", 40)
    assert bypass.override.engine_id == "demo-0"
    clock.advance(30)
    assert (await port.status()).engines[0].topology == "sjf"


async def test_a_silent_engine_keeps_its_last_picture(port: MemoryPort, clock: FakeClock) -> None:
    port.set_reachable("demo-0", reachable=False)
    clock.advance(20)
    silent, answering = (await port.status()).engines
    assert not silent.reachable
    assert silent.lease.expired
    assert silent.topology is not None
    assert answering.reachable
    assert (await port.health()).problems == ("engine demo-0 does not answer",)


async def test_an_engine_never_reached_has_nothing_to_tell(clock: FakeClock) -> None:
    port = MemoryPort(clock, ("a",), unreachable=("a",), history_s=10)
    assert (await port.status()).engines[0].last_seen_s is None


async def test_a_switch_leaves_a_directive_and_a_marker(port: MemoryPort, clock: FakeClock) -> None:
    await port.pin(PinRequest(topology="sjf", reason="because"), "ada")
    clock.advance(2)
    newest = (await port.directives(PageQuery(engine_id="demo-0", limit=1)))[0]
    assert (newest.topology, newest.ack, newest.owner) == ("sjf", "ack", "pin")
    series = await port.views(ViewQuery("demo-0"))
    assert series.switches[-1].after == "sjf"


async def test_a_long_sleep_is_caught_up_with_in_bounded_time(
    port: MemoryPort, clock: FakeClock
) -> None:
    clock.advance(30 * 86_400)
    assert len((await port.views(ViewQuery("demo-0", limit=10_000))).short) <= 1800
