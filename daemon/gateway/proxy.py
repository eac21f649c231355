"""The walk of one request: who, may it, what is it, which engine, and its answer back."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from hmas.daemon.gateway.accounting import Accounting
from hmas.daemon.gateway.admission import Admission
from hmas.daemon.gateway.body import Route, parse_body, parse_loosely
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.dispatch import Answer, Dispatcher, Outgoing
from hmas.daemon.gateway.engines import Engine, EnginePool
from hmas.daemon.gateway.errors import (
    ApiError,
    internal_error,
    invalid_field,
    method_not_allowed,
    model_not_found,
    not_found,
    too_large,
)
from hmas.daemon.gateway.forwarding import to_client
from hmas.daemon.gateway.http_server import error_response, expect_continue
from hmas.daemon.gateway.keys import Client, KeyRing
from hmas.daemon.gateway.link import GatewayLink
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.daemon.gateway.relay import relay_stream, relay_whole
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.daemon.gateway.tagging import FeatureInjector, Tagger
from hmas.engine.clock import Clock
from hmas.engine.events import Outcome

PREFIX: Final = "/v1/"
ROUTES: Final = {route.value: route for route in Route}
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_REQUEST_ID: Final = 128
JSON: Final = "application/json"

_log = logging.getLogger("hmas.gateway")


@dataclass(frozen=True, slots=True)
class ProxyParts:
    """Everything a request meets on its way."""

    settings: GatewaySettings
    keys: KeyRing
    admission: Admission
    tagger: Tagger
    pool: EnginePool
    dispatcher: Dispatcher
    accounting: Accounting
    metrics: GatewayMetrics
    link: GatewayLink | None
    clock: Clock


class Proxy:
    """Answers ``/v1/*`` by asking an engine."""

    def __init__(self, parts: ProxyParts) -> None:
        self._parts = parts

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request, from its headers to the last byte of its answer; errors included."""
        parts = self._parts
        call = Call(_request_id(request), request.method, request.path, parts.clock.now_s())
        try:
            return await self._answer(request, call)
        except ApiError as error:
            return _refusal(call, error)
        except web.HTTPRequestEntityTooLarge:
            return _refusal(call, too_large(parts.settings.max_body_bytes))
        except (asyncio.CancelledError, ConnectionError):
            _client_left(call)
            raise
        except Exception:
            parts.metrics.internal_errors.inc()
            call.outcome = None if call.outcome is None else Outcome.FAILED
            _log.exception("request %s failed inside the gateway", call.request_id)
            if call.status:
                raise
            return _refusal(call, internal_error(call.request_id))
        finally:
            parts.accounting.finished(call)

    async def _answer(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        client = self._parts.keys.identify(request.headers)
        call.tenant = client.defaults.tenant
        path = request.path
        route = ROUTES.get(path)
        call.route = path if route is not None else PREFIX + "*"
        if path == "/v1/models" or path.startswith("/v1/models/"):
            return self._models(request, call, path)
        if route is not None and request.method != "POST":
            raise method_not_allowed(request.method, path, "POST")
        # Checked as it was sent, too: what goes to the engine is the undecoded path.
        if not request.rel_url.raw_path.startswith(PREFIX) or ".." in path:
            raise not_found(path)
        with self._parts.admission.admit(client):
            raw = await self._read(request)
            if route is None:
                outgoing = self._passed_through(request, call, raw)
            else:
                outgoing = self._understood(request, call, client, route, raw)
            return await self._ask(request, call, outgoing)

    async def _read(self, request: web.BaseRequest) -> bytes:
        if request.content.is_eof():
            return await request.read()
        timeout_s = self._parts.settings.body_timeout_s
        try:
            await expect_continue(request)
            async with asyncio.timeout(timeout_s):
                return await request.read()
        except TimeoutError as error:
            raise ApiError(
                408, f"the request body did not arrive within {timeout_s:g} s", code="timeout"
            ) from error
        except (web.RequestPayloadError, HttpProcessingError) as error:
            raise invalid_field(f"the request body cannot be read: {error}", None) from error

    def _understood(
        self, request: web.BaseRequest, call: Call, client: Client, route: Route, raw: bytes
    ) -> Outgoing:
        parts = self._parts
        body = parse_body(route, raw)
        call.model = body.model
        self._refuse_unknown_model(body.model)
        features = parts.tagger.tag(call, client, request.headers, body)
        if features is not None:
            parts.accounting.arrived(features)
        injector = FeatureInjector(body, features)

        def body_for(engine: Engine) -> bytes:
            target = engine.target
            return injector.body(
                accepts_features=target.accepts_features,
                priority_scheduling=target.priority_scheduling,
            )

        return Outgoing(
            method="POST",
            path_and_query=request.rel_url.raw_path_qs,
            headers=request.headers,
            model=body.model,
            body_for=body_for,
            repeatable=True,
        )

    def _passed_through(self, request: web.BaseRequest, call: Call, raw: bytes) -> Outgoing:
        model: str | None = None
        if raw and request.content_type == JSON:
            model, raw = parse_loosely(raw)
            if model is not None and not self._parts.pool.serves(model):
                raise model_not_found(model, self._parts.pool.known_models())
        call.model = model or ""
        return Outgoing(
            method=request.method,
            path_and_query=request.rel_url.raw_path_qs,
            headers=request.headers,
            model=model,
            body_for=lambda _engine: raw or None,
            repeatable=request.method in SAFE_METHODS,
        )

    async def _ask(
        self, request: web.BaseRequest, call: Call, outgoing: Outgoing
    ) -> web.StreamResponse:
        parts = self._parts
        call.outcome = Outcome.ABORTED
        try:
            answer = await parts.dispatcher.send(call, outgoing)
        except ApiError as error:
            call.outcome = None if error.shed is not None else Outcome.FAILED
            raise
        try:
            call.answered()
            if call.features is not None:
                parts.accounting.first_token(call)
            headers = self._answer_headers(call, answer)
            if answer.complete:
                return relay_whole(call, answer, headers)
            read_timeout_s = parts.settings.read_timeout_s
            return await relay_stream(
                request, call, answer, headers=headers, read_timeout_s=read_timeout_s
            )
        finally:
            answer.close()

    def _answer_headers(self, call: Call, answer: Answer) -> CIMultiDict[str]:
        headers = to_client(answer.upstream.headers)
        headers["X-Request-Id"] = call.request_id
        headers["X-Hmas-Engine"] = answer.engine.id
        headers["X-Hmas-Queue-Ms"] = f"{call.queue_s * 1000:.1f}"
        if call.features is not None:
            headers["X-Hmas-Task-Type"] = call.features.task_type.value
        topology = self._topology(answer.engine)
        if topology is not None:
            headers["X-Hmas-Topology"] = topology
        return headers

    def _topology(self, engine: Engine) -> str | None:
        if engine.pump is not None:
            return engine.pump.shown_topology
        link = self._parts.link
        return link.topology(engine.id) if link is not None else None

    def _models(self, request: web.BaseRequest, call: Call, path: str) -> web.Response:
        if request.method not in {"GET", "HEAD"}:
            raise method_not_allowed(request.method, path, "GET")
        name = path.removeprefix("/v1/models").lstrip("/")
        call.status = 200
        body = self._parts.pool.model_list() if not name else self._parts.pool.model_card(name)
        if body is None:
            raise model_not_found(name, self._parts.pool.known_models())
        return web.Response(body=body, content_type=JSON, headers={"X-Request-Id": call.request_id})

    def _refuse_unknown_model(self, model: str) -> None:
        if not self._parts.pool.serves(model):
            raise model_not_found(model, self._parts.pool.known_models())


def _request_id(request: web.BaseRequest) -> str:
    given = request.headers.get("X-Request-Id", "")
    if 0 < len(given) <= MAX_REQUEST_ID and given.isascii() and given.isprintable():
        return given
    return os.urandom(16).hex()


def _refusal(call: Call, error: ApiError) -> web.Response:
    call.status = error.status
    call.shed = error.shed
    call.code = error.code or ""
    return error_response(error, call.request_id)


def _client_left(call: Call) -> None:
    if call.outcome is not None:
        call.outcome = Outcome.ABORTED
    call.code = "client_disconnected"
