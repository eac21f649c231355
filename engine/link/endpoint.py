"""The engine's control endpoint: one thread that answers directives and publishes events."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

import zmq

from hmas.engine.clock import Clock, SystemClock
from hmas.engine.directive import (
    ControlReply,
    ControlRequest,
    Describe,
    DirectiveReply,
    EngineDescription,
)
from hmas.engine.events import Event
from hmas.engine.link.config import LinkConfig
from hmas.engine.link.curve import admit_known_client
from hmas.engine.link.outbox import CAPACITY_EVENTS, Outbox
from hmas.engine.link.sockets import bind_private, claim, ipc_path, is_tcp
from hmas.engine.wire import MAX_MESSAGE_BYTES, WireError, decode_request, encode

logger = logging.getLogger(__name__)

FLUSH_S: Final = 0.05
LINGER_MS: Final = 200

Handler = Callable[[ControlRequest], ControlReply]


class ControlEndpoint:
    """REP for directives, PUB for event batches, in one daemon thread with its own context.

    ``handler`` runs in that thread; whatever it raises becomes a NACK. So does ``tick``, before
    each flush (every ``flush_s``), for what must happen while the engine idles. ``start`` binds
    before it returns, so a wrong setting fails where the engine starts and not later in a log.
    """

    def __init__(
        self,
        config: LinkConfig,
        handler: Handler,
        *,
        tick: Callable[[], None] | None = None,
        boot_id: str | None = None,
        kind: str = "engine",
        clock: Clock | None = None,
        flush_s: float = FLUSH_S,
        capacity: int = CAPACITY_EVENTS,
    ) -> None:
        self.config = config
        self.boot_id = boot_id or uuid.uuid4().hex
        self.refused = 0
        self.failed = 0
        self._handler = handler
        self._tick = tick
        self._flush_s = flush_s
        self._outbox = Outbox(
            config.engine_id, self.boot_id, clock or SystemClock(), kind=kind, capacity=capacity
        )
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._claims: list[int] = []

    @property
    def dropped(self) -> int:
        """Events lost because the outbox was full."""
        return self._outbox.dropped

    def publish(self, event: Event) -> None:
        """Send ``event`` with the next batch. Thread-safe, never blocks, never raises."""
        self._outbox.put(event)

    def start(self) -> None:
        """Bind and serve.

        Raises:
            LinkConfigError: an address is taken, or its directory is open to other users.
            CurveError: TCP, and the server's secret key is missing.
        """
        if self._thread is not None:
            raise RuntimeError("this control endpoint has already started")
        context: zmq.Context[Any] = zmq.Context()
        try:
            self._claim_files()
            stop_authentication = self._authenticate(context)
            control, events = self._bind(context)
        except BaseException:
            context.destroy(linger=0)
            self._release_files()
            raise
        self._thread = threading.Thread(
            target=self._serve,
            args=(context, control, events, stop_authentication),
            name=f"hmas-link-{self.config.engine_id}",
            daemon=True,
        )
        self._thread.start()

    def close(self, timeout_s: float = 2.0) -> None:
        """Send what waits, then stop; harmless when repeated or never started."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
        self._release_files()

    def _claim_files(self) -> None:
        for endpoint in (self.config.control_endpoint, self.config.events_endpoint):
            if not is_tcp(endpoint):
                self._claims.append(claim(ipc_path(endpoint)))

    def _release_files(self) -> None:
        while self._claims:
            os.close(self._claims.pop())

    def _authenticate(self, context: zmq.Context[Any]) -> Callable[[], None]:
        curve = self.config.curve
        return admit_known_client(context, curve) if curve is not None else lambda: None

    def _bind(self, context: zmq.Context[Any]) -> tuple[zmq.Socket[bytes], zmq.Socket[bytes]]:
        config = self.config
        control: zmq.Socket[bytes] = context.socket(zmq.REP)
        events: zmq.Socket[bytes] = context.socket(zmq.PUB)
        control.maxmsgsize = 2 * MAX_MESSAGE_BYTES
        for socket in (control, events):
            socket.linger = LINGER_MS
        bind_private(control, config.control_endpoint, config.curve, "HMAS_LINK_CONTROL")
        bind_private(events, config.events_endpoint, config.curve, "HMAS_LINK_EVENTS")
        return control, events

    def _serve(
        self,
        context: zmq.Context[Any],
        control: zmq.Socket[bytes],
        events: zmq.Socket[bytes],
        stop_authentication: Callable[[], None],
    ) -> None:
        flush_at_s = time.monotonic() + self._flush_s
        while not self._stop.is_set():
            wait_s = max(0.0, flush_at_s - time.monotonic())
            try:
                if control.poll(int(wait_s * 1000) + 1):
                    control.send(encode(self._answer(control.recv_multipart())))
                if time.monotonic() >= flush_at_s:
                    flush_at_s = time.monotonic() + self._flush_s
                    self._flush(events)
            except Exception:
                self.failed += 1
                logger.exception("control link of %s", self.config.engine_id)
                self._stop.wait(self._flush_s)
        self._send(events)
        stop_authentication()
        context.destroy(linger=LINGER_MS)

    def _flush(self, events: zmq.Socket[bytes]) -> None:
        if self._tick is not None:
            self._tick()
        self._send(events)

    def _send(self, events: zmq.Socket[bytes]) -> None:
        for batch in self._outbox.batches():
            events.send(encode(batch))

    def _answer(self, parts: list[bytes]) -> ControlReply:
        if len(parts) != 1:
            return self._refuse(f"a request is one message part, got {len(parts)}")
        try:
            return self._handler(decode_request(parts[0]))
        except WireError as error:
            return self._refuse(f"unreadable request: {error}")
        except Exception as error:
            self.failed += 1
            logger.exception("control link of %s: request failed", self.config.engine_id)
            return self._refuse(f"{type(error).__name__}: {error}")

    def _refuse(self, reason: str) -> DirectiveReply:
        self.refused += 1
        description = self._describe()
        active = description.active if description is not None else None
        return DirectiveReply(
            engine_id=self.config.engine_id,
            boot_id=self.boot_id,
            accepted=False,
            active_version=active.version if active is not None else 0,
            topology=active.topology if active is not None else "",
            bypass=active.bypass if active is not None else False,
            step=0,
            reason=reason,
        )

    def _describe(self) -> EngineDescription | None:
        try:
            reply = self._handler(Describe())
        except Exception:  # noqa: BLE001 - a refusal must not fail because describing does
            self.failed += 1
            return None
        return reply if isinstance(reply, EngineDescription) else None
