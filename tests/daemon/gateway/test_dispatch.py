from __future__ import annotations

import asyncio
import random
import socket
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import openai
import pytest

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.dispatch import Dispatcher, Outgoing, Sessions
from hmas.daemon.gateway.engines import Engine, EnginePool
from hmas.daemon.gateway.errors import ApiError
from hmas.daemon.gateway.limits import CountTable, DrainRate
from hmas.daemon.gateway.local import LocalGateway
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.daemon.gateway.settings import EngineTarget, GatewaySettings
from hmas.engine.clock import FakeClock

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]

HELLO: Any = [{"role": "user", "content": "Translate to French: the cat sleeps"}]


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


@pytest.mark.parametrize("answered_s_ago", [0.0, 20.0, None])
async def test_a_slow_connection_is_no_outage_of_an_engine_that_answered_lately(
    engine: ScriptedEngine, answered_s_ago: float | None
) -> None:
    clock = FakeClock(100.0)
    async with engine.serving() as url, aiohttp.ClientSession() as session:
        settings = GatewaySettings.model_validate({"engines": [{"url": url}]})
        target = Engine(settings.engines[0], CountTable(1), 0)

        if answered_s_ago is not None:
            target.succeeded(clock.now_s() - answered_s_ago)

        def meanwhile() -> None:
            clock.advance(2.0)

        dispatcher = Dispatcher(
            EnginePool([target]),
            Sessions(SlowToAccept(session, 2, meanwhile), session),  # type: ignore[arg-type]
            settings=settings,
            metrics=GatewayMetrics(),
            drain_rate=DrainRate(30, random.Random(1)),
            clock=clock,
        )
        body = b'{"model": "tiny", "prompt": "x"}'
        outgoing = Outgoing("POST", "/v1/completions", {}, "tiny", lambda _: body, repeatable=True)
        call = Call("r", "POST", "/v1/completions", 0.0)
        if answered_s_ago is not None:
            answer = await dispatcher.send(call, outgoing)
            assert answer.upstream.status == 200
            answer.close()
        else:
            with pytest.raises(ApiError, match="no engine that serves this model is up"):
                await dispatcher.send(call, outgoing)
        assert target.in_flight == 0


async def test_failover_to_another_engine_before_the_first_byte(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = EngineTarget.model_validate(
            {"engine_id": "gone", "url": f"http://127.0.0.1:{probe.getsockname()[1]}"}
        )
        gateway = await start(nobody, engine)
        client = openai_for(gateway)
        for _ in range(4):
            await client.completions.create(model="tiny", prompt="x")
    assert len(engine.seen) == 4


async def test_an_engine_that_hangs_up_before_answering_is_tried_again_then_left(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.script = deque([Behaviour(hang_up_after=0)])
    client = openai_for(await start(engine))
    await client.completions.create(model="tiny", prompt="x")
    assert len(engine.seen) == 2, "a stale idle connection deserves a second try"
    engine.default = Behaviour(hang_up_after=0)
    with pytest.raises(openai.InternalServerError) as raised:
        await client.completions.create(model="tiny", prompt="x")
    assert raised.value.status_code == 503
    assert raised.value.response.headers["x-hmas-dropped-reason"] == "no-engine"


async def test_many_stale_connections_in_a_row_are_no_outage(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.per_connection = 1
    release = asyncio.Event()
    engine.script = deque([Behaviour(hold=release)] * 4)
    client = openai_for(await start(engine, health_interval_s=60))
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(ask(client))
        await engine.until(lambda engine: engine.running == 4)
        release.set()
    for _ in range(2):
        await ask(client)
    assert len(engine.seen) == 6


async def test_a_request_that_may_have_taken_effect_is_not_repeated(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(hang_up_after=0)
    client = openai_for(await start(engine))
    with pytest.raises(openai.InternalServerError, match="broke off") as raised:
        await client.post("/load_lora_adapter", body={"lora_name": "x"}, cast_to=object)
    assert raised.value.status_code == 502
    assert len(engine.seen) == 1


async def test_an_engine_that_dies_in_the_middle_of_a_stream_ends_it_with_an_error_event(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(chunks=5, hang_up_after=2, interval_s=0.01)
    client = openai_for(await start(engine, ScriptedEngine(models=("other",))))
    stream = await client.chat.completions.create(model="tiny", messages=HELLO, stream=True)
    texts: list[str] = []

    async def read() -> None:
        texts.extend([(await anext(stream)).choices[0].delta.content for _ in range(2)])
        await anext(stream)

    with pytest.raises(openai.APIError, match="engine0 broke off its answer"):
        await read()
    assert texts == ["w0 ", "w1 "]
    assert len(engine.seen) == 1, "after the first byte nothing is repeated"


async def test_an_engines_own_503_means_requeue(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.script = deque([Behaviour(status=503), Behaviour(status=503)])
    gateway = await start(engine)
    await openai_for(gateway).completions.create(model="tiny", prompt="x")
    assert len(engine.seen) == 3


async def test_an_engine_that_keeps_refusing_sheds_in_the_end(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(status=503)
    client = openai_for(await start(engine, queue_ttl_s=0.2))
    with pytest.raises(openai.RateLimitError) as raised:
        await client.completions.create(model="tiny", prompt="x")
    assert raised.value.response.headers["x-hmas-dropped-reason"] == "ttl-expired"


async def test_other_errors_of_the_engine_pass_as_they_are(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    body = b'{"error":{"message":"too long","type":"t","param":"messages","code":400}}'
    engine.script = deque([Behaviour(status=400, body=body), Behaviour(status=500)])
    client = openai_for(await start(engine))
    with pytest.raises(openai.BadRequestError, match="too long"):
        await client.chat.completions.create(model="tiny", messages=HELLO)
    with pytest.raises(openai.InternalServerError):
        await client.chat.completions.create(model="tiny", messages=HELLO)


async def test_a_silent_engine_is_given_up(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(hold=asyncio.Event())
    client = openai_for(await start(engine, read_timeout_s=0.1))
    with pytest.raises(openai.InternalServerError, match=r"sent nothing for 0\.1 s") as raised:
        await client.completions.create(model="tiny", prompt="x")
    assert raised.value.status_code == 504
