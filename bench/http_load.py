"""A load generator that costs next to nothing: raw connections, prepared bytes, two time stamps.

It knows one kind of answer: HTTP/1.1 with a chunked body that ends with the empty chunk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final, cast

END: Final = b"\r\n0\r\n\r\n"
OK: Final = b"HTTP/1.1 200"


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds from sending a request to the first byte and to the end of its answer."""

    first_byte_s: float
    total_s: float


@dataclass(slots=True)
class LoadResult:
    """Timings of the requests that were answered, and how many were not.

    ``span_s`` is the wall time from the first request to the last answer.
    """

    timings: list[Timing] = field(default_factory=list)
    failed: int = 0
    span_s: float = 0.0

    @property
    def per_s(self) -> float:
        return len(self.timings) / self.span_s if self.span_s > 0 else 0.0


class LoadError(RuntimeError):
    """The server did not answer as the generator expects."""


class _Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Timing] | None = None
        self._sent_at = 0.0
        self._first_at = 0.0
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail("the connection closed in the middle of an answer")

    async def ask(self, request: bytes) -> Timing:
        """Send ``request`` and wait for the end of its answer. Raises :class:`LoadError`."""
        if self._transport is None:
            raise LoadError("the connection is closed")
        self._answer = self._loop.create_future()
        self._first_at = 0.0
        self._tail = b""
        self._sent_at = perf_counter()
        self._transport.write(request)
        return await self._answer

    def data_received(self, data: bytes) -> None:
        if not self._first_at:
            self._first_at = perf_counter()
            if not data.startswith(OK):
                self._fail(f"the answer begins with {data[:80]!r}")
                return
        self._tail = (self._tail + data)[-len(END) :] if len(data) < len(END) else data
        if self._tail.endswith(END) and self._answer is not None and not self._answer.done():
            now = perf_counter()
            self._answer.set_result(Timing(self._first_at - self._sent_at, now - self._sent_at))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _fail(self, message: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(LoadError(message))


async def _connect(port: int) -> _Connection:
    loop = asyncio.get_running_loop()
    _, protocol = await loop.create_connection(lambda: _Connection(loop), "127.0.0.1", port)
    return protocol


async def _one(connection: _Connection, request: bytes, result: LoadResult) -> None:
    try:
        result.timings.append(await connection.ask(request))
    except LoadError:
        result.failed += 1


async def closed_loop(port: int, request: bytes, clients: int, duration_s: float) -> LoadResult:
    """``clients`` connections, each asking again as soon as it was answered."""
    result = LoadResult()
    until = perf_counter() + duration_s

    async def client() -> None:
        connection = await _connect(port)
        while perf_counter() < until:
            before = result.failed
            await _one(connection, request, result)
            if result.failed > before:
                connection.close()
                connection = await _connect(port)
        connection.close()

    started = perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())
    result.span_s = perf_counter() - started
    return result


async def open_loop(port: int, request: bytes, arrivals_s: Sequence[float]) -> LoadResult:
    """A request at each of ``arrivals_s``, whatever became of the earlier ones."""
    result = LoadResult()
    idle: list[_Connection] = []

    async def one() -> None:
        connection = idle.pop() if idle else await _connect(port)
        before = result.failed
        await _one(connection, request, result)
        if result.failed == before:
            idle.append(connection)

    started = perf_counter()
    async with asyncio.TaskGroup() as group:
        for at_s in arrivals_s:
            delay_s = at_s - (perf_counter() - started)
            if delay_s > 0:
                await asyncio.sleep(delay_s)
            group.create_task(one())
    result.span_s = perf_counter() - started
    for connection in idle:
        connection.close()
    return result
