from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import openai
import pytest

from hmas.bench.scripted_engine import ScriptedEngine
from hmas.daemon.gateway.local import LocalGateway

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110  there is nothing to await but the next round
            await asyncio.sleep(0.01)


async def test_models_are_learned_from_the_engine(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine)
    learned = gateway.app.pool.engines[0]
    assert learned.models == {"tiny"}
    assert set(learned.model_cards) == {"tiny"}


async def test_configured_models_win(engine: ScriptedEngine, start: StartGateway) -> None:
    gateway = await start(engine, target={"models": ["alias"]})
    assert gateway.app.pool.known_models() == ["alias"]


async def test_an_engine_goes_down_and_comes_back(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine)
    watched = gateway.app.pool.engines[0]
    assert watched.is_up
    engine.is_healthy = False
    await until(lambda: not watched.is_up)
    engine.is_healthy = True
    await until(lambda: watched.is_up)


@pytest.mark.parametrize("broken", [{"health_delay_s": 30.0}, {"is_healthy": False}])
async def test_a_broken_health_route_does_not_stop_traffic(
    broken: dict[str, Any], start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine = ScriptedEngine(**broken)
    gateway = await start(engine, health_timeout_s=0.05)
    watched = gateway.app.pool.engines[0]
    client = openai_for(gateway)
    for _ in range(5):
        await until(lambda: not watched.is_up)
        await client.completions.create(model="tiny", prompt="x")
    assert len(engine.seen) == 5
