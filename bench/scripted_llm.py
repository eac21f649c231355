"""A fake LLM endpoint that answers as its script says: what a meta-controller must survive."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import web

MEGABYTE = 1024 * 1024
TINY_JSON = '{"reason": "calm", "choice": {"topology": "%s", "hints": {}}, "bypass": false}'


class Failure(StrEnum):
    """What endpoints do instead of answering; each must become a recorded refusal."""

    NOT_JSON = "not_json"
    EMPTY = "empty"
    WRONG_SCHEMA = "wrong_schema"
    EXTRA_KEY = "extra_key"
    UNKNOWN_TOPOLOGY = "unknown_topology"
    HINT_OUT_OF_BOUNDS = "hint_out_of_bounds"
    MEGABYTE = "megabyte"
    HANG = "hang"
    STATUS_500 = "status_500"
    STATUS_429 = "status_429"
    HANG_UP = "hang_up"
    NOT_A_COMPLETION = "not_a_completion"
    NO_CHOICES = "no_choices"
    DEEP_JSON = "deep_json"
    BROKEN_TEXT = "broken_text"


_ANSWERS: dict[Failure, str] = {
    Failure.NOT_JSON: "Sure! Here is my decision: switch to edf.",
    Failure.EMPTY: "",
    Failure.WRONG_SCHEMA: '{"topology": "edf"}',
    Failure.EXTRA_KEY: TINY_JSON.replace('"bypass"', '"n_run": 1, "bypass"') % "edf",
    Failure.UNKNOWN_TOPOLOGY: TINY_JSON % "quantum",
    Failure.HINT_OUT_OF_BOUNDS: (TINY_JSON % "edf").replace(
        '"hints": {}', '"hints": {"aging_every": 1e9}'
    ),
    Failure.MEGABYTE: "a" * MEGABYTE,
    Failure.DEEP_JSON: "[" * 10_000,
    Failure.BROKEN_TEXT: "\udcff\x00",
}


def answer(topology: str, *, reason: str = "deadline misses", bypass: bool = False) -> str:
    """A valid answer."""
    choice = {"topology": topology, "hints": {}}
    return json.dumps({"reason": reason, "choice": choice, "bypass": bypass})


@dataclass(slots=True)
class ScriptedLlm:
    """Answers in turn what ``script`` holds (text or a failure), then ``otherwise``.

    ``asked`` holds the body of every request; ``released`` lets hanging answers go.
    """

    otherwise: str | Failure = Failure.NOT_JSON
    script: deque[str | Failure] = field(default_factory=deque)
    asked: list[dict[str, Any]] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=8 * MEGABYTE)
        app.router.add_post("/v1/chat/completions", self._complete)
        return app

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        step = self.script.popleft() if self.script else self.otherwise
        if isinstance(step, Failure):
            return await self._fail(request, step)
        return web.json_response(completion(step))

    async def _fail(self, request: web.Request, failure: Failure) -> web.StreamResponse:
        if failure is Failure.HANG:
            await self.released.wait()
        if failure is Failure.HANG_UP:
            assert request.transport is not None
            request.transport.abort()
        statuses = {Failure.STATUS_500: 500, Failure.STATUS_429: 429}
        if failure in statuses:
            error = {"error": {"message": "scripted", "type": "x", "code": None, "param": None}}
            return web.json_response(error, status=statuses[failure])
        if failure is Failure.NOT_A_COMPLETION:
            return web.Response(text="<html>proxy</html>", content_type="text/html")
        if failure is Failure.NO_CHOICES:
            return web.json_response(completion("") | {"choices": []})
        return web.json_response(completion(_ANSWERS.get(failure, "")))


def completion(content: str) -> dict[str, Any]:
    """A chat completion with one choice."""
    message = {"role": "assistant", "content": content}
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


@asynccontextmanager
async def served(llm: ScriptedLlm) -> AsyncIterator[str]:
    """The endpoint on a free port of loopback; yields its base URL with ``/v1``."""
    runner = web.AppRunner(llm.app(), shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/v1"
    finally:
        llm.released.set()
        await runner.cleanup()
