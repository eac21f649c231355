from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import openai
import pytest

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.dispatch import Dispatcher, Outgoing
from hmas.daemon.gateway.engines import Engine, EnginePool
from hmas.daemon.gateway.errors import ApiError
from hmas.daemon.gateway.limits import CountTable, DrainRate
from hmas.daemon.gateway.local import LocalGateway
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.clock import FakeClock

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


class SlowToAccept:
    """A session whose first ``times`` connections time out, as under a full accept queue."""

    def __init__(self, session: aiohttp.ClientSession, times: int, meanwhile: Callable[[], None]):
        self._session = session
        self._times = times
        self._meanwhile = meanwhile

    async def request(self, *args: Any, **options: Any) -> aiohttp.ClientResponse:
        if self._times > 0:
            self._times -= 1
            self._meanwhile()
            raise aiohttp.ConnectionTimeoutError("the connection took too long")
        return await self._session.request(*args, **options)


@pytest.mark.parametrize("answers_others", [True, False])
async def test_one_slow_connection_is_no_outage_while_the_engine_answers_others(
    engine: ScriptedEngine, *, answers_others: bool
) -> None:
    clock = FakeClock(100.0)
    async with engine.serving() as url, aiohttp.ClientSession() as session:
        settings = GatewaySettings.model_validate({"engines": [{"url": url}]})
        target = Engine(settings.engines[0], CountTable(1), 0)

        def meanwhile() -> None:
            clock.advance(2.0)
            if answers_others:
                target.succeeded(clock.now_s())

        dispatcher = Dispatcher(
            EnginePool([target]),
            SlowToAccept(session, 2, meanwhile),  # type: ignore[arg-type]
            settings=settings,
            metrics=GatewayMetrics(),
            drain_rate=DrainRate(30, random.Random(1)),
            clock=clock,
        )
        body = b'{"model": "tiny", "prompt": "x"}'
        outgoing = Outgoing("POST", "/v1/completions", {}, "tiny", lambda _: body, repeatable=True)
        call = Call("r", "POST", "/v1/completions", 0.0)
        if answers_others:
            answer = await dispatcher.send(call, outgoing)
            assert answer.upstream.status == 200
            answer.close()
        else:
            with pytest.raises(ApiError, match="no engine that serves this model is up"):
                await dispatcher.send(call, outgoing)
        assert target.in_flight == 0
