from __future__ import annotations

import asyncio
import random

import pytest

from hmas.controllers.perception.incoming import TenantDefaults
from hmas.daemon.gateway.admission import Admission
from hmas.daemon.gateway.errors import ApiError
from hmas.daemon.gateway.keys import Client
from hmas.daemon.gateway.limits import CountTable, DrainRate
from hmas.engine.clock import FakeClock
from hmas.engine.events import ShedReason

ALICE = Client(TenantDefaults(tenant="alice"), 0, 1)
BOB = Client(TenantDefaults(tenant="bob"), 1, None)


def admission(limit: int = 2) -> Admission:
    rate = DrainRate(30, random.Random(1))
    return Admission(CountTable(4), 1, limit, rate, FakeClock())


def test_a_tenants_limit_and_the_whole_limit() -> None:
    gate = admission()
    with gate.admit(ALICE):
        with (
            pytest.raises(ApiError, match="tenant `alice` already has 1") as raised,
            gate.admit(ALICE),
        ):
            pass
        assert raised.value.shed is ShedReason.SATURATED
        with gate.admit(BOB):
            with pytest.raises(ApiError, match="gateway is full"), gate.admit(BOB):
                pass
            assert gate.inside == 2
    assert gate.inside == 0


async def test_drain_waits_for_those_inside() -> None:
    gate = admission()
    with gate.admit(BOB):
        draining = asyncio.ensure_future(gate.drain(5))  # noqa: TID251
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as raised, gate.admit(BOB):
            pass
        assert (raised.value.status, raised.value.shed) == (503, ShedReason.SHUTTING_DOWN)
        assert not draining.done()
    assert await draining == 0


async def test_drain_gives_up_in_time() -> None:
    gate = admission()
    with gate.admit(BOB):
        assert await gate.drain(0.01) == 1
    assert await gate.drain(1) == 0
