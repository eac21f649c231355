from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.daemon.gateway.local import LocalGateway
from hmas.daemon.gateway.relay import outcome_of
from hmas.engine.events import Outcome

StartGateway = Callable[..., Awaitable[LocalGateway]]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.COMPLETED),
        (307, Outcome.COMPLETED),
        (404, Outcome.ABORTED),
        (500, Outcome.FAILED),
    ],
)
def test_outcomes(status: int, outcome: Outcome) -> None:
    assert outcome_of(status) is outcome


async def test_bytes_pass_as_they_came(engine: ScriptedEngine, start: StartGateway) -> None:
    audio = bytes(range(256)) * 2000
    engine.script = deque([Behaviour(body=audio, content_type="audio/wav")])
    gateway = await start(engine)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{gateway.url}/v1/audio/speech") as answer,
    ):
        assert answer.content_type == "audio/wav"
        assert await answer.read() == audio


async def test_long_answers_of_known_length_are_streamed(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    long = b"x" * 100_000
    engine.script = deque([Behaviour(body=long)])
    gateway = await start(engine, max_buffered_bytes=1024)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{gateway.url}/v1/files/1/content") as answer,
    ):
        assert answer.content_length == len(long)
        assert await answer.read() == long


async def test_a_stream_ends_as_the_engine_ended_it(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine)
    body = {"model": "tiny", "prompt": "x", "stream": True}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{gateway.url}/v1/completions", json=body) as answer,
    ):
        assert answer.content_type == "text/event-stream"
        assert (await answer.read()).endswith(b"data: [DONE]\n\n")


async def test_a_stream_cut_off_within_an_event_still_ends_with_a_readable_one(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    engine.script = deque([Behaviour(chunks=3, hang_up_after=1)])
    gateway = await start(engine)
    body = {"model": "tiny", "prompt": "x", "stream": True}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{gateway.url}/v1/completions", json=body) as answer,
    ):
        events = (await answer.read()).split(b"\n\n")
    assert events[-1] == b""
    assert events[-2].startswith(b'data: {"error":')
    assert b"[DONE]" not in events, "a broken stream must not look finished"


async def test_an_engine_that_falls_silent_in_the_middle_is_cut(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    engine.script = deque(
        [Behaviour(chunks=30, interval_s=0.05), Behaviour(chunks=2, interval_s=9)]
    )
    gateway = await start(engine, read_timeout_s=1.0)
    body = {"model": "tiny", "prompt": "x", "stream": True}
    answers = []
    async with asyncio.timeout(20), aiohttp.ClientSession() as session:
        for url in (f"{gateway.url}/v1/completions",) * 2:
            async with session.post(url, json=body) as answer:
                answers.append((answer.status, await answer.read()))
    assert answers[0][1].endswith(b"data: [DONE]\n\n"), "slow, but never silent for that long"
    assert answers[1][0] == 504
    await engine.until(lambda e: e.running == 0)


async def test_silence_after_the_first_chunk_ends_the_stream_with_an_error(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    engine.script = deque([Behaviour(chunks=9, silent_after=2)])
    gateway = await start(engine, read_timeout_s=0.2)
    body = {"model": "tiny", "prompt": "x", "stream": True}
    async with (
        asyncio.timeout(20),
        aiohttp.ClientSession() as session,
        session.post(f"{gateway.url}/v1/completions", json=body) as answer,
    ):
        events = (await answer.read()).split(b"\n\n")
        assert len(events) == 4
        assert events[2].startswith(b'data: {"error":')
        await engine.until(lambda e: e.running == 0)
