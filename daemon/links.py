"""The daemon's end of the control link: ask engines, hear events, tell gateways."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

import zmq
import zmq.asyncio

from hmas.engine import wire
from hmas.engine.directive import (
    ControlReply,
    ControlRequest,
    Describe,
    Directive,
    DirectiveReply,
    EngineDescription,
)
from hmas.engine.events import ControlNotice, EventBatch
from hmas.engine.link.curve import CurveKeys
from hmas.engine.link.sockets import bind_private, connect_private

log = logging.getLogger(__name__)

EVENT_BATCHES_AHEAD = 4096
"""Batches that zmq keeps for a slow loop; beyond that it drops, and the gap is counted."""


class UnreachableError(ConnectionError):
    """No usable answer from an engine; the message says why."""


class RequestLink:
    """Questions to one engine, one at a time, each with a deadline ("lazy pirate")."""

    def __init__(
        self,
        context: zmq.asyncio.Context,
        endpoint: str,
        *,
        timeout_s: float = 2.0,
        curve: CurveKeys | None = None,
    ) -> None:
        self._context = context
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._curve = curve
        self._turn = asyncio.Lock()
        self._socket: zmq.asyncio.Socket | None = None

    async def ask(self, request: ControlRequest) -> ControlReply:
        """The engine's answer.

        Raises:
            UnreachableError: no answer in time, or one that cannot be read.
        """
        async with self._turn:
            answered = False
            try:
                async with asyncio.timeout(self._timeout_s):
                    socket = self._open()
                    await socket.send(wire.encode(request))
                    payload = await socket.recv()
                answered = True
                return wire.decode_reply(payload)
            except TimeoutError as error:
                raise UnreachableError(
                    f"no answer from {self._endpoint} within {self._timeout_s:g} s"
                ) from error
            except (zmq.ZMQError, wire.WireError) as error:
                raise UnreachableError(f"{self._endpoint}: {error}") from error
            finally:
                if not answered:  # a REQ socket that still waits cannot be used again
                    self.close()

    def _open(self) -> zmq.asyncio.Socket:
        if self._socket is None:
            socket = self._context.socket(zmq.REQ)
            socket.linger = 0
            socket.setsockopt(zmq.MAXMSGSIZE, wire.MAX_MESSAGE_BYTES)
            connect_private(socket, self._endpoint, self._curve)
            self._socket = socket
        return self._socket

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close(linger=0)
            self._socket = None


@dataclass(slots=True)
class SequenceWatch:
    """Counts batches that never arrived, per source and start of that source."""

    missed_batches: int = 0
    dropped_events: int = 0
    _last: tuple[str, int] = ("", 0)
    _dropped_before: int = 0

    def see(self, batch: EventBatch) -> int:
        """Batches missing just before this one; the first of a start counts from there."""
        boot_id, last = self._last
        if batch.boot_id != boot_id:
            self._dropped_before = self.dropped_events
            missing = 0
        else:
            missing = max(0, batch.sequence - last - 1)
        self._last = (batch.boot_id, batch.sequence)
        self.missed_batches += missing
        self.dropped_events = self._dropped_before + batch.dropped
        return missing


BatchHandler = Callable[[EventBatch], None]


class EventReceiver:
    """A SUB socket that hands every readable batch to ``handle``; gaps are counted."""

    def __init__(self, socket: zmq.asyncio.Socket, handle: BatchHandler) -> None:
        self._socket = socket
        self.handle = handle
        self.watches: dict[str, SequenceWatch] = {}
        self.unreadable = 0
        self.received = 0

    @classmethod
    def connected(
        cls,
        context: zmq.asyncio.Context,
        endpoint: str,
        handle: BatchHandler,
        curve: CurveKeys | None = None,
    ) -> EventReceiver:
        """Events of one engine, which binds."""
        socket = _subscriber(context)
        connect_private(socket, endpoint, curve)
        return cls(socket, handle)

    @classmethod
    def bound(
        cls,
        context: zmq.asyncio.Context,
        endpoint: str,
        handle: BatchHandler,
        curve: CurveKeys | None = None,
    ) -> EventReceiver:
        """Events of all gateways, which connect."""
        socket = _subscriber(context)
        bind_private(socket, endpoint, curve, "links.gateway_events")
        return cls(socket, handle)

    @property
    def missed_batches(self) -> int:
        return sum(watch.missed_batches for watch in self.watches.values())

    @property
    def dropped_events(self) -> int:
        return sum(watch.dropped_events for watch in self.watches.values())

    async def run(self) -> None:
        """Receive until cancelled."""
        while True:
            payload = await self._socket.recv()
            try:
                batch = wire.decode_batch(payload)
            except wire.WireError as error:
                self.unreadable += 1
                log.warning("unreadable event batch: %s", error)
                continue
            self._accept(batch)

    def _accept(self, batch: EventBatch) -> None:
        self.received += 1
        missing = self.watches.setdefault(batch.source, SequenceWatch()).see(batch)
        if missing:
            log.warning(
                "%s: %d event batches lost before %d", batch.source, missing, batch.sequence
            )
        self.handle(batch)

    def close(self) -> None:
        self._socket.close(linger=0)


def _subscriber(context: zmq.asyncio.Context) -> zmq.asyncio.Socket:
    socket = context.socket(zmq.SUB)
    socket.linger = 0
    socket.set_hwm(EVENT_BATCHES_AHEAD)
    socket.setsockopt(zmq.MAXMSGSIZE, wire.MAX_MESSAGE_BYTES)
    socket.setsockopt(zmq.SUBSCRIBE, b"")
    return socket


class NoticeSender:
    """A PUB socket for gateways; never waits, a slow gateway misses notices."""

    def __init__(
        self, context: zmq.asyncio.Context, endpoint: str, curve: CurveKeys | None = None
    ) -> None:
        self._socket = context.socket(zmq.PUB)
        self._socket.linger = 0
        bind_private(self._socket, endpoint, curve, "links.notices")

    async def send(self, notice: ControlNotice) -> None:
        with contextlib.suppress(zmq.Again):
            await self._socket.send(wire.encode(notice), zmq.NOBLOCK)

    def close(self) -> None:
        self._socket.close(linger=0)


class EngineLink:
    """Everything the daemon says to and hears from one engine."""

    def __init__(self, requests: RequestLink, events: EventReceiver) -> None:
        self._requests = requests
        self.events = events

    async def describe(self) -> EngineDescription:
        """What the engine is and runs now. Raises :class:`UnreachableError`."""
        reply = await self._requests.ask(Describe())
        if not isinstance(reply, EngineDescription):
            raise UnreachableError("answered a question for its description with a directive reply")
        return reply

    async def send(self, directive: Directive) -> DirectiveReply:
        """ACK or NACK. Raises :class:`UnreachableError`."""
        reply = await self._requests.ask(directive)
        if not isinstance(reply, DirectiveReply):
            raise UnreachableError("answered a directive with a description")
        return reply

    def close(self) -> None:
        self._requests.close()
        self.events.close()
