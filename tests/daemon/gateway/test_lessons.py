"""What models learn from leaves the gateway only with consent, and never as text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import openai
import pytest
import zmq
import zmq.asyncio

from hmas.bench.scripted_engine import ScriptedEngine
from hmas.daemon.gateway.local import LocalGateway
from hmas.engine.events import Event, RequestFinished, RequestLearned
from hmas.engine.wire import decode_batch, encode

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]
PROMPT = "Translate the confidential memorandum about Montgolfier"
KEYS = [
    {"key": "willing-key", "tenant": "willing", "learn": True},
    {"key": "private-key", "tenant": "private"},
]


@pytest.fixture
async def socket(tmp_path: Path) -> AsyncIterator[Any]:
    """What the daemon hears with."""
    context = zmq.asyncio.Context()
    made = context.socket(zmq.SUB)
    made.setsockopt(zmq.SUBSCRIBE, b"")
    made.bind(f"ipc://{tmp_path}/gateway-events")
    yield made
    context.destroy(linger=0)


async def connected(socket: Any, client: openai.AsyncOpenAI) -> None:
    """Returns when events of the gateway arrive."""
    while True:
        await client.completions.create(model="tiny", prompt="warm up")
        if await socket.poll(200):
            return


async def told(socket: Any, request_id: str) -> list[Event]:
    """Everything up to the batch after the end of ``request_id``."""
    heard: list[Event] = []
    async with asyncio.timeout(20):
        while not any(
            isinstance(event, RequestFinished) and event.features.request_id == request_id
            for event in heard
        ):
            heard += decode_batch(await socket.recv()).events
    return heard


async def test_only_tenants_that_agreed_are_learned_from(
    engine: ScriptedEngine,
    start: StartGateway,
    openai_for: OpenAIFor,
    socket: Any,
    tmp_path: Path,
) -> None:
    gateway = await start(engine, runtime_dir=tmp_path, events_flush_s=0.01, keys=KEYS)
    willing, private = openai_for(gateway, "willing-key"), openai_for(gateway, "private-key")
    await connected(socket, private)
    for number, client in enumerate((willing, private, willing, private)):
        headers = {"x-request-id": f"r{number}", "x-session-id": "session-of-ada"}
        await client.completions.create(model="tiny", prompt=PROMPT, extra_headers=headers)
    heard = await told(socket, "r3")
    lessons = [event for event in heard if isinstance(event, RequestLearned)]
    assert [one.features.request_id for one in lessons] == ["r0", "r2"]
    first, second = lessons
    assert (first.model, first.output_tokens, first.prompt_tokens) == ("tiny", 3, 7)
    assert first.session == second.session != ""
    assert first.words == second.words
    assert len(first.words) >= len(PROMPT.split())
    written = encode(first).lower()
    assert all(word.lower().encode() not in written for word in PROMPT.split() if len(word) > 5)
