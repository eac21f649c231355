"""One simulated engine behind an OpenAI-compatible HTTP API, in real time."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from hmas.engine.clock import SystemClock
from hmas.engine.events import Event
from hmas.engine.link.config import LinkConfig
from hmas.engine.link.endpoint import ControlEndpoint
from hmas.engine.link.mailbox import DirectiveMailbox
from hmas.engine.simulator.batching import (
    KIND,
    KIND_VERSION,
    RefusedRequestError,
    SimulatedEngine,
    identity_of,
)
from hmas.engine.simulator.metrics import EngineMetrics
from hmas.engine.simulator.openai_api import (
    ApiError,
    Body,
    LengthSource,
    Reply,
    decode_chat,
    decode_completion,
    usage_of,
)
from hmas.engine.simulator.profile import Profile, faster
from hmas.engine.simulator.pump import EnginePump, Stream
from hmas.engine.simulator.sequence import Sequence, SimRequest

logger = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
DEFAULT_PORT: Final = 8000

Decoder = Callable[[bytes], tuple[Body, int]]


class ServerError(RuntimeError):
    """The server cannot start as it was asked to; the message names the option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """One simulated engine.

    Attributes:
        link: where directives come in; None: no control link.
        speed: how many times faster than the profile's hardware; 1 is real time.
        api_key: bearer token that ``/v1`` asks for; required beyond the loopback interface.
        stock: plain vLLM scheduling, directives are refused.
        model: name under which the model is served; None: that of the profile.
        shutdown_timeout_s: what requests in flight get to finish when the server stops.
    """

    profile: Profile
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    link: LinkConfig | None = None
    speed: float = 1.0
    seed: int = 0
    api_key: str | None = None
    stock: bool = False
    model: str | None = None
    shutdown_timeout_s: float = 2.0

    def __post_init__(self) -> None:
        if not self.api_key and not _is_loopback(self.host):
            raise ServerError(
                f"host {self.host} is open to other machines: give an API key"
                " (--api-key, or HMAS_ENGINE_API_KEY), or use 127.0.0.1"
            )


class SimulatorServer:
    """Serves one simulated engine while entered as an async context manager.

    ``failed`` is set when the engine's own loop broke: nothing is served any more.
    """

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.model = options.model or options.profile.model
        self._clock = SystemClock()
        link = options.link
        identity = identity_of(options.profile, link.engine_id if link else "engine0")
        self.engine = SimulatedEngine(
            faster(options.profile, options.speed),
            self._clock,
            self._on_event,
            identity=identity,
            stock=options.stock,
        )
        self.mailbox = DirectiveMailbox(self.engine.handle)
        self._metrics = EngineMetrics(self.engine, self.model)
        self._lengths = LengthSource(options.seed, options.profile.limits.max_model_len)
        self._pump = EnginePump(self.engine, self.mailbox.lock)
        self._endpoint = (
            None
            if link is None
            else ControlEndpoint(
                link,
                self.mailbox.deliver,
                tick=self._check_lease,
                boot_id=identity.boot_id,
                kind=KIND,
            )
        )
        self.failed = asyncio.Event()
        self._exit = contextlib.AsyncExitStack()
        self._port = options.port

    @property
    def port(self) -> int:
        """The port that was bound, also when 0 was asked for."""
        return self._port

    @property
    def url(self) -> str:
        return f"http://{self.options.host}:{self._port}"

    async def __aenter__(self) -> Self:
        """Raises OSError when the port is taken, LinkConfigError when the link's address is."""
        async with contextlib.AsyncExitStack() as opening:
            if self._endpoint is not None:
                self._endpoint.start()
                opening.callback(self._endpoint.close)
            pumping = asyncio.get_running_loop().create_task(self._pump.run(), name="engine-pump")
            pumping.add_done_callback(self._pump_ended)
            opening.callback(pumping.cancel)
            opening.callback(self._pump.abort_all)
            runner = web.AppRunner(
                self.app(),
                handler_cancellation=True,
                access_log=None,
                shutdown_timeout=self.options.shutdown_timeout_s,
            )
            await runner.setup()
            opening.push_async_callback(runner.cleanup)
            site = web.TCPSite(runner, self.options.host, self.options.port, backlog=1024)
            await site.start()
            self._port = runner.addresses[0][1]
            self._exit = opening.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._exit.__aexit__(kind, error, trace)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[self._edge])
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/completions", self._completion)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._prometheus)
        app.router.add_get("/version", self._version)
        return app

    def _pump_ended(self, pumping: asyncio.Task[None]) -> None:
        """Without its loop the engine is dead: say so, and let the host end the process."""
        if not pumping.cancelled() and (error := pumping.exception()) is not None:
            logger.error("the engine's loop failed", exc_info=error)
            self.failed.set()

    # Edge -----------------------------------------------------------------------------------

    @web.middleware
    async def _edge(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        try:
            self._authenticate(request)
            return await handler(request)
        except ApiError as error:
            return _error(error)
        except web.HTTPException as error:
            return _error(ApiError(error.status, f"{error.reason}: {request.path}"))

    def _authenticate(self, request: web.Request) -> None:
        key = self.options.api_key
        if not key or not request.path.startswith("/v1"):
            return
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), key.encode()):
            raise ApiError(401, "invalid API key", code="invalid_api_key")

    def _on_event(self, event: Event) -> None:
        self._metrics.observe(event)
        if self._endpoint is not None:
            self._endpoint.publish(event)

    def _check_lease(self) -> None:
        with self.mailbox.lock:
            self.engine.check_lease()

    # Routes ---------------------------------------------------------------------------------

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, decode_chat, chat=True)

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, decode_completion, chat=False)

    async def _serve(
        self, request: web.Request, decode: Decoder, *, chat: bool
    ) -> web.StreamResponse:
        payload = await request.read()
        body, prompt_tokens = decode(payload)
        if body.model is not None and body.model != self.model:
            raise ApiError(
                404, f"the model {body.model!r} does not exist; this engine serves {self.model!r}",
                code="model_not_found", param="model",
            )  # fmt: skip
        request_id, now_s = uuid.uuid4().hex, self._clock.now_s()
        sim_request = self._lengths.sim_request(body, payload, prompt_tokens, request_id, now_s)
        reply = Reply(request_id, self.model, int(now_s), chat=chat)
        stream = Stream(each_token=bool(body.stream))
        sequence = self._submit(sim_request, stream)
        try:
            if body.stream:
                usage = body.stream_options is not None and body.stream_options.include_usage
                return await self._stream(request, reply, sequence, stream, usage=usage)
            await stream.progress()
            return self._whole(reply, sequence)
        finally:
            if not stream.finished:
                self._pump.abort(sequence)

    def _submit(self, request: SimRequest, stream: Stream) -> Sequence:
        try:
            return self._pump.submit(request, stream)
        except RefusedRequestError as error:
            raise ApiError(400, str(error)) from error

    async def _stream(
        self, request: web.Request, reply: Reply, sequence: Sequence, stream: Stream, *,
        usage: bool,
    ) -> web.StreamResponse:  # fmt: skip
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        sent, finished = 0, False
        while not finished:
            finished = await stream.progress()
            produced = self.engine.output_tokens(sequence)
            text = reply.chunks(sent, produced)
            sent = produced
            if finished:
                counts = usage_of(sequence.request.prompt_tokens, produced) if usage else None
                text += reply.last(_finish_reason(sequence), counts)
            if not response.prepared:
                await response.prepare(request)
            await response.write(text.encode())
        await response.write_eof()
        return response

    def _whole(self, reply: Reply, sequence: Sequence) -> web.Response:
        tokens = self.engine.output_tokens(sequence)
        usage = usage_of(sequence.request.prompt_tokens, tokens)
        body = reply.whole(tokens, _finish_reason(sequence), usage)
        return web.Response(body=body, content_type="application/json")

    async def _models(self, _: web.Request) -> web.Response:
        longest = self.options.profile.limits.max_model_len
        model = {"id": self.model, "object": "model", "created": 0, "owned_by": "hmas"}
        return web.json_response({"object": "list", "data": [{**model, "max_model_len": longest}]})

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=503 if self.failed.is_set() else 200)

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": f"{KIND} {KIND_VERSION}"})

    async def _prometheus(self, _: web.Request) -> web.Response:
        return web.Response(text=self._metrics.render())


def _finish_reason(sequence: Sequence) -> str:
    capped = sequence.request.output_tokens > sequence.target
    exact = sequence.request.output_tokens == sequence.request.max_tokens
    return "length" if capped or exact else "stop"


def _error(error: ApiError) -> web.Response:
    return web.Response(status=error.status, body=error.body(), content_type="application/json")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
