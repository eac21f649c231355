"""aiohttp's low-level server: one handler for everything, and our error form for broken HTTP.

An ``Application``'s router and signals would cost each request about a tenth of a millisecond
and add nothing: the gateway knows its handful of paths.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_protocol import RequestHandler

from hmas.daemon.gateway.errors import ApiError

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_log = logging.getLogger("hmas.gateway.http")


def error_response(error: ApiError, request_id: str = "") -> web.Response:
    """``error`` as an HTTP response."""
    headers = dict(error.headers)
    if request_id:
        headers["X-Request-Id"] = request_id
    return web.Response(
        status=error.status, body=error.body(), content_type="application/json", headers=headers
    )


async def expect_continue(request: web.BaseRequest) -> None:
    """Let a client that waits for permission send its body."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(CONTINUE)
        # The interim answer is not the beginning of the final one.
        request.writer.output_size = 0


class _Connection(RequestHandler):
    """Answers what is not HTTP, or breaks its limits, in the OpenAI form.

    aiohttp's own version logs the offending bytes, which can hold a client's key.
    """

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        _log.warning("answer %d to %s: %s", status, request.remote, type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun, no error can follow it")
        text = "internal error" if status >= 500 else "the request is not valid HTTP"
        kind = "server_error" if status >= 500 else "invalid_request_error"
        response = error_response(ApiError(status, text, kind=kind, code="bad_http"))
        response.force_close()
        return response


class HttpServer(web.Server):
    """Serves ``handler``; bodies over ``max_body_bytes`` raise HTTPRequestEntityTooLarge.

    A client that leaves cancels its handler.
    """

    def __init__(self, handler: Handler, max_body_bytes: int, **options: Any) -> None:
        super().__init__(
            handler, request_factory=self._request, handler_cancellation=True, **options
        )
        self._max_body_bytes = max_body_bytes
        self._event_loop = asyncio.get_running_loop()
        self._options = options

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._event_loop, **self._options)

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        return web.BaseRequest(
            message,
            payload,
            protocol,
            writer,
            task,
            self._event_loop,
            client_max_size=self._max_body_bytes,
        )
