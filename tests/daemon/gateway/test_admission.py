from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import openai
import pytest

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.controllers.perception.incoming import TenantDefaults
from hmas.daemon.gateway.admission import Admission
from hmas.daemon.gateway.errors import ApiError
from hmas.daemon.gateway.keys import Client
from hmas.daemon.gateway.limits import CountTable, DrainRate
from hmas.daemon.gateway.local import LocalGateway
from hmas.engine.clock import FakeClock
from hmas.engine.events import ShedReason

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]

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


@pytest.mark.parametrize(
    ("settings", "target"),
    [
        ({"max_in_flight": 2}, {}),
        ({}, {"max_in_flight": 2}),
        ({"anonymous": {"tenant": "small", "max_in_flight": 2}}, {}),
    ],
)
async def test_the_surplus_gets_429_with_retry_after(
    settings: dict[str, Any],
    target: dict[str, Any],
    engine: ScriptedEngine,
    start: StartGateway,
    openai_for: OpenAIFor,
) -> None:
    gate = asyncio.Event()
    engine.default = Behaviour(hold=gate)
    client = openai_for(await start(engine, target=target, **settings))

    async def ask() -> object:
        return await client.completions.create(model="tiny", prompt="x")

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        inside = [group.create_task(ask()) for _ in range(2)]
        await engine.until(lambda e: e.running == 2)
        with pytest.raises(openai.RateLimitError) as raised:
            await ask()
        gate.set()
    assert all(task.done() for task in inside)
    headers = raised.value.response.headers
    assert headers["x-hmas-dropped-reason"] == "saturated"
    assert 1 <= int(headers["retry-after"]) <= 30
    assert raised.value.code == "rate_limit_exceeded"
    await ask()


async def test_a_draining_gateway_refuses_new_requests_and_finishes_old_ones(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    gate = asyncio.Event()
    engine.default = Behaviour(hold=gate)
    gateway = await start(engine)
    client = openai_for(gateway)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        old = group.create_task(client.completions.create(model="tiny", prompt="x"))
        await engine.until(lambda e: e.running == 1)
        draining = group.create_task(gateway.app.admission.drain(5))
        await asyncio.sleep(0)
        with pytest.raises(openai.InternalServerError) as raised:
            await client.completions.create(model="tiny", prompt="x")
        assert raised.value.response.headers["x-hmas-dropped-reason"] == "shutting-down"
        gate.set()
    assert old.result().choices[0].text == "w0 w1 w2 "
    assert draining.result() == 0
