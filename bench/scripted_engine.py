"""A fake OpenAI engine that does what a script says: for tests of whatever calls an engine."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from hmas.engine.features import RequestFeatures, decode_features


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the engine treats one request.

    Attributes:
        status: of the answer; above 399 the answer is ``body`` or an OpenAI error.
        chunks: output tokens, one chunk each.
        interval_s: pause before each chunk.
        hang_up_after: chunks after which the connection is cut; 0: before any byte.
        silent_after: chunks after which nothing more comes, with the connection open.
        hold: nothing is answered until this event is set.
        usage: whether the answer ends with token counts (streams: as the last event).
        body, content_type: sent instead of a completion.
    """

    status: int = 200
    chunks: int = 3
    interval_s: float = 0.0
    hang_up_after: int | None = None
    silent_after: int | None = None
    hold: asyncio.Event | None = None
    usage: bool = True
    body: bytes | None = None
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as the engine received it; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.raw)
        return decoded

    @property
    def features(self) -> RequestFeatures | None:
        """x_r, where the request carries it."""
        encoded = (self.json.get("vllm_xargs") or {}).get("hmas")
        return decode_features(encoded) if encoded is not None else None


@dataclass(slots=True)
class ScriptedEngine:
    """Plays ``script`` request by request, then ``default``; keeps what it saw.

    ``aborted`` counts requests whose client left before the end of the answer, ``running``
    those being answered; ``changed`` is notified whenever one of these moves. More requests
    than ``per_connection`` on one connection find it closed, and are not seen.
    """

    models: tuple[str, ...] = ("tiny",)
    default: Behaviour = field(default_factory=Behaviour)
    script: deque[Behaviour] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    is_healthy: bool = True
    health_delay_s: float = 0.0
    per_connection: int | None = None
    aborted: int = 0
    running: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _carried: Counter[object] = field(default_factory=Counter)

    async def until(self, happened: Callable[[ScriptedEngine], bool]) -> None:
        """Wait until ``happened`` holds."""
        async with self.changed:
            await self.changed.wait_for(lambda: happened(self))

    def application(self) -> web.Application:
        application = web.Application(client_max_size=2**28)
        application.router.add_get("/health", self._health)
        application.router.add_get("/v1/models", self._models)
        application.router.add_route("*", "/{path:.*}", self._generate)
        return application

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[str]:
        """Serves on loopback while entered; yields the base URL."""
        runner = web.AppRunner(
            self.application(), handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
            await site.start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    async def _health(self, _: web.Request) -> web.Response:
        await asyncio.sleep(self.health_delay_s)
        return web.Response(status=200 if self.is_healthy else 500)

    async def _models(self, _: web.Request) -> web.Response:
        cards = [{"id": name, "object": "model", "max_model_len": 2048} for name in self.models]
        return web.json_response({"object": "list", "data": cards})

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        if self._is_worn_out(request):
            _hang_up(request)
            return web.Response()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(Seen(request.method, request.raw_path, headers, raw))
        behaviour = self.script.popleft() if self.script else self.default
        await self._moved(running=1)
        try:
            return await self._play(request, raw, behaviour)
        except (asyncio.CancelledError, ConnectionError):
            self.aborted += 1
            raise
        finally:
            await asyncio.shield(self._moved(running=-1))

    def _is_worn_out(self, request: web.Request) -> bool:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peername")
        self._carried[peer] += 1
        return self.per_connection is not None and self._carried[peer] > self.per_connection

    async def _moved(self, running: int) -> None:
        async with self.changed:
            self.running += running
            self.changed.notify_all()

    async def _play(
        self, request: web.Request, raw: bytes, behaviour: Behaviour
    ) -> web.StreamResponse:
        if behaviour.hold is not None:
            await behaviour.hold.wait()
        if behaviour.hang_up_after == 0:
            _hang_up(request)
            return web.Response()
        if behaviour.status >= 400 or behaviour.body is not None:
            body = behaviour.body or b'{"error": {"message": "no", "type": "t", "code": 1}}'
            return web.Response(
                status=behaviour.status, body=body, content_type=behaviour.content_type
            )
        chat = request.path.endswith("chat/completions")
        if b'"stream":true' in raw.replace(b" ", b""):
            return await self._stream(request, behaviour, chat=chat)
        return web.json_response(_whole(self.models[0], behaviour, chat=chat))

    async def _stream(
        self, request: web.Request, behaviour: Behaviour, *, chat: bool
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number in range(behaviour.chunks):
            await asyncio.sleep(behaviour.interval_s)
            if behaviour.hang_up_after == number:
                _hang_up(request)
                return response
            if behaviour.silent_after == number:
                await asyncio.Event().wait()
            await response.write(_event(_delta(self.models[0], f"w{number} ", chat=chat)))
        if behaviour.usage:
            last = _delta(self.models[0], "", chat=chat) | {"choices": []}
            await response.write(_event(last | {"usage": _usage(behaviour.chunks)}))
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _usage(chunks: int) -> dict[str, int]:
    return {"prompt_tokens": 7, "completion_tokens": chunks, "total_tokens": 7 + chunks}


def _event(content: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(content).encode() + b"\n\n"


def _delta(model: str, text: str, *, chat: bool) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "finish_reason": None}
    choice |= {"delta": {"role": "assistant", "content": text}} if chat else {"text": text}
    kind = "chat.completion.chunk" if chat else "text_completion"
    return {"id": "x", "object": kind, "created": 0, "model": model, "choices": [choice]}


def _whole(model: str, behaviour: Behaviour, *, chat: bool) -> dict[str, Any]:
    text = "".join(f"w{number} " for number in range(behaviour.chunks))
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
    choice |= {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    kind = "chat.completion" if chat else "text_completion"
    whole = {"id": "x", "object": kind, "created": 0, "model": model, "choices": [choice]}
    return whole | ({"usage": _usage(behaviour.chunks)} if behaviour.usage else {})
