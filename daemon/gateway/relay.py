"""Passing an answer on: whole when it is short, chunk by chunk as it comes otherwise."""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter
from typing import Final

from aiohttp import ClientError, ClientResponse, web
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict

from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.dispatch import EVENT_STREAM, Answer
from hmas.daemon.gateway.errors import engine_failed
from hmas.daemon.gateway.pump.turn import Read
from hmas.engine.events import Outcome

EVENT_END: Final = b"\n\n"
ERROR_EVENT: Final = b'data: {"error"'
BAD_REQUEST: Final = 400
SERVER_ERROR: Final = 500

_log = logging.getLogger("hmas.gateway")


class EngineBrokeOffError(Exception):
    """The engine's connection ended in the middle of an answer."""


def outcome_of(status: int) -> Outcome:
    """A 4xx is the client's own doing: the engine neither served nor failed it."""
    if status < BAD_REQUEST:
        return Outcome.COMPLETED
    return Outcome.ABORTED if status < SERVER_ERROR else Outcome.FAILED


def relay_whole(call: Call, answer: Answer, headers: CIMultiDict[str]) -> web.Response:
    """An answer that has been read to its end."""
    call.tail = answer.start
    call.status = answer.upstream.status
    call.outcome = outcome_of(call.status)
    return web.Response(body=answer.start, status=call.status, headers=headers)


async def relay_stream(
    request: web.BaseRequest,
    call: Call,
    answer: Answer,
    *,
    headers: CIMultiDict[str],
    read_timeout_s: float,
) -> web.StreamResponse:
    """An answer that is still being made; what the engine sends goes out at once.

    When the engine breaks off, an event stream ends with an error event (the client's library
    raises it) and any other body is cut, so that it cannot be taken for a whole one.
    """
    upstream = answer.upstream
    response = web.StreamResponse(status=upstream.status, headers=headers)
    if upstream.content_length is not None:
        response.content_length = upstream.content_length
    call.streamed = upstream.content_type == EVENT_STREAM
    call.status = upstream.status
    call.outcome = Outcome.ABORTED
    writer = await response.prepare(request)
    assert writer is not None
    silence = SilenceGuard(upstream, call, read_timeout_s)
    try:
        await _pump(answer.read, answer.start, writer, call)
    except EngineBrokeOffError as error:
        await _broke_off(request, response, call, error)
        return response
    finally:
        silence.end()
    await response.write_eof()
    call.outcome = outcome_of(call.status)
    if call.streamed and ERROR_EVENT in call.tail:
        call.outcome = Outcome.FAILED
    return response


class SilenceGuard:
    """Cuts an answer whose engine falls silent in the middle of it.

    aiohttp's own read timeout would set a new timer for every chunk; this one looks again when
    the last chunk's time would be up.
    """

    def __init__(self, upstream: ClientResponse, call: Call, timeout_s: float) -> None:
        self._upstream = upstream
        self._call = call
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(timeout_s, self._look)
        connection = upstream.connection
        if connection is not None and connection.protocol is not None:
            connection.protocol.read_timeout = None

    def end(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        left_s = self._call.last_at + self._timeout_s - perf_counter()
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._look)
        else:
            self._upstream.close()


async def _pump(read: Read, chunk: bytes, writer: AbstractStreamWriter, call: Call) -> None:
    """The hot loop: whatever stands here is paid for every token."""
    write, now = writer.write, perf_counter
    previous, events = b"", 0
    try:
        while True:
            await write(chunk)
            events += chunk.count(EVENT_END)
            try:
                following = await read()
            except (ClientError, OSError) as error:
                raise EngineBrokeOffError(type(error).__name__) from error
            if not following:
                return
            call.last_at = now()
            previous, chunk = chunk, following
    finally:
        call.streamed_out(events, previous + chunk)


async def _broke_off(
    request: web.BaseRequest, response: web.StreamResponse, call: Call, error: Exception
) -> None:
    assert call.engine is not None
    call.outcome = Outcome.FAILED
    call.code = "engine_error"
    _log.warning(
        "request %s: engine %s broke off its answer: %s",
        call.request_id,
        call.engine.id,
        error,
    )
    if not call.streamed:
        if request.transport is not None:
            request.transport.abort()
        return
    event = engine_failed(f"engine {call.engine.id} broke off its answer").sse_event()
    separator = b"" if call.tail.endswith(b"\n\n") else b"\n\n"
    await response.write(separator + event)
    await response.write_eof()
