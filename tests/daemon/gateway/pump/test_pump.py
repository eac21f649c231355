from __future__ import annotations

import pytest

from hmas.daemon.gateway.pump.meter import Seen
from hmas.daemon.gateway.pump.pump import MAX_FAULTS, NOT_ENFORCED
from hmas.engine.core import DOUBT_HOLD_S
from hmas.engine.directive import Controls, Describe, EngineDescription
from hmas.engine.events import RequestArrived
from hmas.engine.topologies import QueuedRequest, topology_names
from hmas.engine.topologies.baseline import Fcfs
from tests.daemon.gateway.pump.support import OUTAGE_LIMIT_S, Broken, Station

ONE = Controls(n_run=1)
LONG = 1000.0


@pytest.fixture
def station() -> Station:
    return Station()


async def test_without_a_directive_everything_goes_out_at_once(station: Station) -> None:
    for number in range(200):
        await station.come(f"r{number}")
    assert station.pump.running == 200
    assert station.pump.shown_topology == "fcfs"


async def test_the_order_follows_the_topology(station: Station) -> None:
    assert station.steer("sjf", controls=ONE, ttl_s=LONG).accepted
    await station.come("first")
    for name, tokens in (("long", 900), ("short", 10), ("middle", 200)):
        await station.come(name, predicted_output_tokens=tokens, predicted_tpot_ms=10.0)
    assert station.order == ["first"]
    for name in ("first", "short", "middle"):
        await station.go(name)
    assert station.order == ["first", "short", "middle", "long"]


async def test_n_run_bounds_and_its_change_takes_effect_at_once(station: Station) -> None:
    station.steer(controls=Controls(n_run=2), ttl_s=LONG)
    for number in range(6):
        await station.come(f"r{number}")
    assert (station.pump.running, station.pump.waiting) == (2, 4)
    station.steer(controls=Controls(n_run=5), ttl_s=LONG)
    assert (station.pump.running, station.pump.waiting) == (5, 1)
    station.steer(controls=ONE, ttl_s=LONG)
    await station.go("r0")
    assert (station.pump.running, station.pump.waiting) == (4, 1)


async def test_the_configured_bound_holds_where_the_directive_has_none() -> None:
    station = Station(pump_max_running=3)
    station.steer(ttl_s=LONG)
    for number in range(5):
        await station.come(f"r{number}")
    assert station.pump.running == 3
    assert not station.steer(controls=Controls(n_run=4)).accepted


async def test_the_fence_counts_the_memory_of_what_runs() -> None:
    station = Station(pump_kv_tokens=1600)
    station.steer(controls=Controls(fence={0: 0}), ttl_s=LONG)
    for number in range(5):
        await station.come(f"r{number}", prompt_tokens=500, predicted_output_tokens=100)
    assert (station.pump.running, station.pump.waiting) == (2, 3)
    await station.go("r0")
    assert station.pump.running == 2
    assert 0 < station.pump.step_stats(0.0, Seen(0, 0, 0, 0, 0, 0, 0)).kv_used <= 1


async def test_swaps_under_load_lose_nothing(station: Station) -> None:
    station.steer(controls=ONE, ttl_s=LONG)
    for number in range(60):
        await station.come(f"r{number}", predicted_output_tokens=number + 1)
    for topology in topology_names():
        station.steer(topology, controls=ONE, ttl_s=LONG)
        for _ in range(4):
            await station.go(station.order[-1])
            await station.tick()
    station.steer(bypass=True, ttl_s=LONG)
    await station.settle()
    assert sorted(station.order) == sorted(station.turns)
    assert station.pump.faults == 0


async def test_a_client_that_leaves_while_it_waits_is_forgotten(station: Station) -> None:
    station.steer("edf", controls=ONE, ttl_s=LONG)
    for name in ("a", "b", "c"):
        await station.come(name)
    await station.leave("b")
    assert (station.pump.running, station.pump.waiting, len(station.pump.core)) == (1, 1, 1)
    await station.go("a")
    assert station.order == ["a", "c"]


async def test_a_client_that_leaves_while_it_runs_makes_room(station: Station) -> None:
    station.steer(controls=ONE, ttl_s=LONG)
    for name in ("a", "b"):
        await station.come(name)
    turn = station.turn("a")
    station.pump.end(turn)
    station.pump.end(turn)
    await station.settle()
    assert station.order == ["a", "b"]
    assert station.pump.core.running == 1


async def test_a_client_that_leaves_as_its_turn_comes_gives_it_back(station: Station) -> None:
    station.steer(controls=ONE, ttl_s=LONG)
    for name in ("a", "b", "c"):
        await station.come(name)
    station.pump.end(station.turn("a"))
    await station.leave("b")
    assert station.order == ["a", "c"]
    assert station.pump.running == 1


async def test_a_lost_lease_lets_everything_go_in_order_of_arrival(station: Station) -> None:
    station.steer("sjf", controls=ONE, ttl_s=5.0)
    for name, tokens in (("a", 5), ("b", 900), ("c", 10)):
        await station.come(name, predicted_output_tokens=tokens, predicted_tpot_ms=10.0)
    await station.tick(4.9)
    assert station.order == ["a"]
    await station.tick(0.2)
    assert station.order == ["a", "b", "c"]
    assert station.pump.shown_topology == "bypass"
    described = station.pump.answer(Describe())
    assert isinstance(described, EngineDescription)
    assert described.lease_expired
    station.steer("sjf", controls=ONE, ttl_s=5.0)
    await station.come("d")
    assert station.pump.waiting == 1


async def test_a_token_budget_is_reported_as_not_enforced(station: Station) -> None:
    assert station.steer(controls=Controls(token_budget=1), ttl_s=LONG).reason == NOT_ENFORCED
    assert not station.steer(controls=Controls(token_budget=512)).accepted


async def test_each_arrival_is_told_once(station: Station) -> None:
    station.steer(controls=ONE, ttl_s=LONG)
    await station.come("a")
    await station.come("b")
    station.pump.end(station.turn("a"))
    await station.come("a", again=True)
    arrived = [event for event in station.told if isinstance(event, RequestArrived)]
    assert [event.features.request_id for event in arrived] == ["a", "b"]


# Out of reach ---------------------------------------------------------------------------------


async def test_while_the_engine_is_out_of_reach_one_request_at_a_time_tries(
    station: Station,
) -> None:
    station.steer(controls=Controls(n_run=8), ttl_s=LONG)
    await station.come("a")
    station.engine.unreachable(200.0, station.clock.now_s())
    station.pump.failed(station.turn("a"))
    for name in ("b", "c"):
        await station.come(name)
    await station.come("a", again=True)
    assert station.pump.running == 0
    await station.tick(1.1)
    assert station.order == ["a", "a"]
    station.engine.succeeded(station.clock.now_s())
    station.pump.answered(station.turn("a"), streamed=True)
    await station.settle()
    assert station.order == ["a", "a", "b", "c"]


async def test_requests_move_on_when_another_engine_can_take_them(station: Station) -> None:
    station.steer(controls=ONE, ttl_s=LONG)
    for name in ("a", "b", "c"):
        await station.come(name)
    station.engine.unreachable(200.0, station.clock.now_s())
    station.pump.failed(station.turn("a"))
    station.elsewhere = True
    await station.tick()
    assert [station.turns[name].result() for name in ("b", "c")] == [None, None]
    assert len(station.pump.core) == 0


async def test_an_outage_that_lasts_ends_the_waiting(station: Station) -> None:
    station.steer(controls=ONE, ttl_s=LONG)
    for name in ("a", "b"):
        await station.come(name)
    station.engine.unreachable(200.0, station.clock.now_s())
    station.pump.failed(station.turn("a"))
    assert station.pump.holds(station.clock.now_s())
    station.engine.unreachable(200.0, station.clock.now_s() + OUTAGE_LIMIT_S)
    await station.tick(OUTAGE_LIMIT_S)
    assert station.turns["b"].result() is None
    assert not station.pump.holds(station.clock.now_s())


# Faults ---------------------------------------------------------------------------------------


class Forgetful(Fcfs):
    """A topology that says it has nobody, though some wait."""

    def _next(self, now_s: float) -> QueuedRequest | None:
        return None


@pytest.mark.parametrize("topology", [Broken, Forgetful])
async def test_a_fault_lets_everything_go(station: Station, topology: type[Fcfs]) -> None:
    station.steer(controls=ONE, ttl_s=LONG)
    for name in ("a", "b", "c"):
        await station.come(name)
    front, rest = station.pump.core.topology.front(), station.pump.core.topology.by_arrival()
    for request in (*front, *rest):
        request.ticket = 0
    station.pump.core.topology = broken = topology()
    broken.load(rest, 0.0)
    await station.go("a")
    await station.tick()
    assert station.order == ["a", "b", "c"]
    assert station.pump.faults == 1
    assert station.pump.core.doubt
    await station.come("d")
    assert station.order[-1] == "d"
    assert not station.steer(controls=ONE, ttl_s=LONG).accepted
    station.clock.advance(DOUBT_HOLD_S + 1)
    assert station.steer(controls=ONE, ttl_s=LONG).accepted
    await station.go("b")
    await station.come("e")
    assert station.pump.waiting == 1


async def test_after_too_many_faults_nothing_is_held_back_again(station: Station) -> None:
    station.steer(controls=ONE, ttl_s=LONG)
    for number in range(MAX_FAULTS):
        station.pump.core.topology = Broken()
        station.pump.core.doubt = ""
        await station.come(f"r{number}")
        await station.come(f"s{number}")
        await station.tick()
    assert station.pump.faults == MAX_FAULTS
    station.clock.advance(DOUBT_HOLD_S + 1)
    assert "gave up" in station.steer(controls=ONE, ttl_s=LONG).reason
    await station.come("late")
    assert station.order[-1] == "late"
    assert station.pump.waiting == 0
    assert not station.pump.holds(station.clock.now_s())
