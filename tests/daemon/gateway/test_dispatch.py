from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import openai
import pytest

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.daemon.gateway.local import LocalGateway

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]


async def ask(client: openai.AsyncOpenAI) -> object:
    return await client.completions.create(model="tiny", prompt="x")


async def test_load_is_spread(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    gate = asyncio.Event()
    other = ScriptedEngine()
    engine.default = other.default = Behaviour(hold=gate)
    client = openai_for(await start(engine, other))
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(ask(client))
        await engine.until(lambda e: e.running == 3)
        await other.until(lambda e: e.running == 3)
        gate.set()


async def test_a_refusing_engine_hands_over_to_another(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    refusing = ScriptedEngine(default=Behaviour(status=503))
    client = openai_for(await start(refusing, engine))
    for _ in range(6):
        await ask(client)
    assert len(engine.seen) == 6


async def test_an_engine_that_breaks_a_short_answer_off_is_replaced_by_another(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    broken = ScriptedEngine(default=Behaviour(hang_up_after=0))
    client = openai_for(await start(broken, engine))
    for _ in range(4):
        await ask(client)
    assert len(engine.seen) == 4


async def test_as_many_wait_for_a_refusing_engine_as_the_bound_says(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(status=503)
    client = openai_for(await start(engine, max_requeued=0))
    with pytest.raises(openai.RateLimitError) as raised:
        await ask(client)
    assert raised.value.response.headers["x-hmas-dropped-reason"] == "saturated"


async def test_slots_are_given_back_whatever_happens(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.script = deque(
        [
            Behaviour(status=503),
            Behaviour(hang_up_after=0),
            Behaviour(),
            Behaviour(status=500),
            Behaviour(status=400),
        ]
    )
    gateway = await start(engine)
    client = openai_for(gateway)
    for _ in range(3):
        try:
            await ask(client)
        except openai.APIStatusError:
            continue
    assert gateway.app.pool.engines[0].in_flight == 0
    assert gateway.app.admission.inside == 0
