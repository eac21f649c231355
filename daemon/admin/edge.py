"""The outermost layer of the API: who may address it, how large a body may be, headers."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hmas.daemon.admin.errors import error_response
from hmas.daemon.wire import ErrorCode

MAX_BODY_BYTES = 64 * 1024
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def host_name(header: str) -> str:
    """The ``Host`` header without its port, lower case."""
    name = header.lower()
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0]


class Edge:
    """ASGI middleware.

    With ``loopback_only`` (no tokens are set) it refuses a ``Host`` that is not this machine:
    a web page could otherwise rebind its own name to 127.0.0.1 and speak for the operator.
    """

    def __init__(self, app: ASGIApp, *, loopback_only: bool) -> None:
        self._app = app
        self._loopback_only = loopback_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if self._loopback_only and host_name(headers.get("host", "")) not in LOOPBACK_NAMES:
            refusal = error_response(
                403,
                ErrorCode.FORBIDDEN,
                "without tokens the API answers only to localhost; set admin.tokens to name it",
            )
            await refusal(scope, receive, send)
            return
        await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Cache-Control", "no-store")
                headers.setdefault("X-Content-Type-Options", "nosniff")
            await send(message)

        body = await read_body(receive)
        if body is None:
            refusal = error_response(
                413, ErrorCode.INVALID, f"the body is larger than {MAX_BODY_BYTES} bytes"
            )
            await refusal(scope, receive, guarded)
            return
        await self._app(scope, replay(body, receive), guarded)


async def read_body(receive: Receive) -> bytes | None:
    """The whole body; None when it is larger than ``MAX_BODY_BYTES``."""
    body = b""
    while True:
        message = await receive()
        part: bytes = message.get("body", b"")
        body += part
        if len(body) > MAX_BODY_BYTES:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return body


def replay(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives the body first, then whatever comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
