"""The gateway's end of the control link: events out, notices in; nothing here ever waits."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import zmq

from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.clock import Clock
from hmas.engine.directive import StepModel
from hmas.engine.events import Event
from hmas.engine.link.curve import CurveKeys, load_keys
from hmas.engine.link.outbox import Outbox
from hmas.engine.link.sockets import connect_private
from hmas.engine.wire import MAX_MESSAGE_BYTES, WireError, decode_notice, encode

HIGH_WATER_MESSAGES: Final = 1000
MAX_NOTICES_PER_FLUSH: Final = 100
NOTICE_LIFETIME_S: Final = 10.0

_log = logging.getLogger("hmas.gateway.link")


@dataclass(frozen=True, slots=True)
class LinkEndpoints:
    """Where the daemon listens; both ends follow the same rules as engine links."""

    events: str
    notices: str
    curve: CurveKeys | None = field(default=None, repr=False)

    @classmethod
    def of(cls, settings: GatewaySettings, runtime_dir: Path) -> LinkEndpoints:
        events, notices = settings.runtime_endpoints(runtime_dir)
        curve = None if settings.curve_dir is None else load_keys(settings.curve_dir)
        return cls(events, notices, curve)


class GatewayLink:
    """PUB for events and SUB for notices, both connecting, both without a daemon harmless.

    ``source`` names this gateway worker, ``boot_id`` this start of it.
    """

    def __init__(
        self, endpoints: LinkEndpoints, outbox: Outbox, clock: Clock, flush_s: float
    ) -> None:
        self._outbox = outbox
        self._clock = clock
        self._flush_s = flush_s
        self._lost_in_socket = 0
        self._topologies: dict[str, str] = {}
        self._step_models: dict[str, StepModel] = {}
        self._noticed_at_s = 0.0
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._events = self._socket(zmq.PUB, endpoints.events, endpoints.curve)
        self._notices = self._socket(zmq.SUB, endpoints.notices, endpoints.curve)

    @property
    def dropped(self) -> int:
        """Events that a full buffer or a full socket refused."""
        return self._outbox.dropped + self._lost_in_socket

    def put(self, event: Event) -> None:
        """Hand over one event; a full buffer drops and counts it."""
        self._outbox.put(event)

    def topology(self, engine_id: str) -> str | None:
        """What the engine runs by the last notice; None when that is old or never came."""
        if self._clock.now_s() - self._noticed_at_s > NOTICE_LIFETIME_S:
            return None
        return self._topologies.get(engine_id)

    def step_model(self, engine_id: str) -> StepModel | None:
        """The newest one that the daemon trusted; it outlives the daemon. None: none ever came."""
        return self._step_models.get(engine_id)

    async def run(self) -> None:
        """Send and receive until cancelled."""
        try:
            while True:
                await asyncio.sleep(self._flush_s)
                self.flush()
                self._read_notices()
        finally:
            self.flush()

    def flush(self) -> None:
        """Send what waits; a socket over its high-water mark drops the batch, counted."""
        for batch in self._outbox.batches():
            try:
                self._events.send(encode(batch), zmq.NOBLOCK)
            except zmq.Again:
                self._lost_in_socket += len(batch.events)

    def close(self) -> None:
        self._context.destroy(linger=200)

    def _read_notices(self) -> None:
        for _ in range(MAX_NOTICES_PER_FLUSH):
            try:
                payload = self._notices.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._apply(payload)

    def _apply(self, payload: bytes) -> None:
        try:
            notice = decode_notice(payload)
        except WireError as error:
            _log.warning("notice ignored: %s", error)
            return
        self._topologies = {
            engine.engine_id: "bypass" if engine.bypass else engine.topology
            for engine in notice.engines
        }
        self._step_models |= {
            engine.engine_id: engine.step_model
            for engine in notice.engines
            if engine.step_model is not None
        }
        self._noticed_at_s = self._clock.now_s()

    def _socket(self, kind: int, endpoint: str, curve: CurveKeys | None) -> zmq.Socket[Any]:
        socket = self._context.socket(kind)
        socket.setsockopt(zmq.LINGER, 200)
        socket.setsockopt(zmq.RECONNECT_IVL, 100)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2000)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        if kind == zmq.PUB:
            socket.setsockopt(zmq.SNDHWM, HIGH_WATER_MESSAGES)
            socket.setsockopt(zmq.XPUB_NODROP, 1)
        else:
            socket.setsockopt(zmq.SUBSCRIBE, b"")
        connect_private(socket, endpoint, curve)
        return socket
