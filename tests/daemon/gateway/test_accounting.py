"""What the daemon learns of each request."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import openai
import pytest
import zmq
import zmq.asyncio

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.daemon.gateway.local import LocalGateway
from hmas.engine.events import (
    Event,
    Outcome,
    RequestArrived,
    RequestFinished,
    RequestFirstToken,
    RequestShed,
    ShedReason,
)
from hmas.engine.features import TaskType
from hmas.engine.wire import decode_batch

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]
T = TypeVar("T", bound=Event)


class Heard:
    """Every event that reached the daemon's socket."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.events: list[Event] = []
        self.sequences: list[int] = []

    async def first(self, kind: type[T]) -> T:
        async with asyncio.timeout(10):
            while True:
                for event in self.events:
                    if isinstance(event, kind):
                        return event
                batch = decode_batch(await self._socket.recv())
                self.events += batch.events
                self.sequences.append(batch.sequence)

    async def end_of(self, request_id: str) -> RequestFinished:
        """Ends of other requests, late ones of a warm-up, are passed over."""
        while (finished := await self.first(RequestFinished)).features.request_id != request_id:
            self.events.remove(finished)
        return finished


@pytest.fixture
async def heard(tmp_path: Path) -> AsyncIterator[Heard]:
    context = zmq.asyncio.Context()
    socket = context.socket(zmq.SUB)
    socket.setsockopt(zmq.SUBSCRIBE, b"")
    socket.bind(f"ipc://{tmp_path}/gateway-events")
    yield Heard(socket)
    context.destroy(linger=0)


@pytest.fixture
async def subscribed(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor, heard: Heard, tmp_path: Path
) -> openai.AsyncOpenAI:
    """A client of a gateway whose events are already being heard."""
    client = openai_for(await start(engine, runtime_dir=tmp_path, events_flush_s=0.01))
    while not heard.events:
        await client.completions.create(model="tiny", prompt="warm up")
        try:
            async with asyncio.timeout(0.2):
                await heard.first(RequestFinished)
        except TimeoutError:
            continue
    heard.events.clear()
    return client


async def test_the_events_of_a_streamed_request(
    subscribed: openai.AsyncOpenAI, engine: ScriptedEngine, heard: Heard
) -> None:
    engine.default = Behaviour(chunks=4, interval_s=0.02)
    stream = await subscribed.chat.completions.create(
        model="tiny",
        messages=[{"role": "user", "content": "Summarize this: ..."}],
        stream=True,
        extra_headers={"x-request-id": "the-one"},
    )
    async for _ in stream:
        pass
    finished = await heard.end_of("the-one")
    arrived = await heard.first(RequestArrived)
    first = await heard.first(RequestFirstToken)
    assert arrived.features == finished.features
    assert first.request_id == "the-one"
    assert finished.features.task_type is TaskType.SUMMARIZATION
    assert finished.outcome is Outcome.COMPLETED
    assert (finished.prompt_tokens, finished.output_tokens) == (7, 4)
    assert 0.02 <= finished.ttft_s < 9
    assert 0 < finished.tpot_s < 5
    assert first.ttft_s == pytest.approx(finished.ttft_s)
    assert heard.sequences == list(range(heard.sequences[0], heard.sequences[-1] + 1))


@pytest.mark.parametrize(
    ("behaviour", "outcome"),
    [
        (Behaviour(status=400), Outcome.ABORTED),
        (Behaviour(status=500), Outcome.FAILED),
        (Behaviour(chunks=3, hang_up_after=1), Outcome.FAILED),
    ],
)
async def test_how_a_request_ended(
    behaviour: Behaviour,
    outcome: Outcome,
    subscribed: openai.AsyncOpenAI,
    engine: ScriptedEngine,
    heard: Heard,
) -> None:
    async def ask() -> None:
        stream = await subscribed.completions.create(
            model="tiny", prompt="x", stream=True, extra_headers={"x-request-id": "the-one"}
        )
        async for _ in stream:
            pass

    engine.script = deque([behaviour])
    with pytest.raises(openai.APIError):
        await ask()
    assert (await heard.end_of("the-one")).outcome is outcome


async def test_a_shed_request_is_told(
    start: StartGateway, openai_for: OpenAIFor, heard: Heard, tmp_path: Path
) -> None:
    engine = ScriptedEngine(default=Behaviour(status=503))
    gateway = await start(engine, runtime_dir=tmp_path, queue_ttl_s=0.01, events_flush_s=0.01)
    client = openai_for(gateway)
    shed: asyncio.Task[RequestShed]
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        shed = group.create_task(heard.first(RequestShed))
        while not shed.done():
            with pytest.raises(openai.RateLimitError):
                await client.completions.create(model="tiny", prompt="x")
    assert shed.result().reason is ShedReason.TTL_EXPIRED
    assert shed.result().features.request_id


async def test_experience_reaches_perception(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(chunks=9)
    client = openai_for(await start(engine, length_model="off"))
    for _ in range(12):
        await client.completions.create(model="tiny", prompt="Translate to French: the cat")
    features = engine.seen[-1].features
    assert features is not None
    assert features.predicted_output_tokens == 9
    assert features.prompt_tokens == 7, "bytes per token, as the engine counted them"
    assert features.predicted_ttft_ms > 0


async def test_the_access_log_has_one_line_without_text_or_key(
    engine: ScriptedEngine,
    start: StartGateway,
    openai_for: OpenAIFor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    gateway = await start(engine, keys=[{"key": "very-secret-key", "tenant": "acme"}])
    with caplog.at_level(logging.INFO, logger="hmas.gateway"):
        await openai_for(gateway, "very-secret-key").completions.create(
            model="tiny", prompt="a private prompt"
        )
    lines = [r.getMessage() for r in caplog.records if r.name == "hmas.gateway.access"]
    assert len(lines) == 1
    line = json.loads(lines[0])
    assert (line["tenant"], line["status"], line["outcome"]) == ("acme", 200, "completed")
    assert (line["prompt_tokens"], line["output_tokens"]) == (7, 3)
    ours = [record for record in caplog.records if record.name.startswith("hmas")]
    assert "private" not in "".join(record.getMessage() for record in ours)
    assert "very-secret-key" not in "".join(record.getMessage() for record in ours)


async def test_metrics_of_a_served_request(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    gateway = await start(engine)
    stream = await openai_for(gateway).completions.create(model="tiny", prompt="x", stream=True)
    async for _ in stream:
        pass
    await gateway.app.admission.drain(5)
    text = gateway.app.metrics.scrape().decode()
    assert 'hmas_requests_total{model="tiny",outcome="completed",tenant="default"} 1.0' in text
    assert 'hmas_request_ttft_seconds_count{engine="engine0",model="tiny"} 1.0' in text
    assert 'hmas_prompt_tokens_total{model="tiny",tenant="default"} 7.0' in text
