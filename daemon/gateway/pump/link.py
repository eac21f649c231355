"""The control link of one pump: the same as an engine's, answered on the event loop."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future
from typing import Final

import zmq

from hmas.daemon.gateway.pump.pump import Pump
from hmas.engine.clock import Clock
from hmas.engine.directive import ControlReply, ControlRequest
from hmas.engine.events import Event
from hmas.engine.link.config import LinkConfig, LinkConfigError
from hmas.engine.link.curve import CurveError
from hmas.engine.link.endpoint import ControlEndpoint
from hmas.engine.link.mailbox import EngineBusyError

TICK_S: Final = 0.05
BIND_AGAIN_S: Final = 5.0
DELIVERY_TIMEOUT_S: Final = 5.0

_log = logging.getLogger("hmas.gateway.pump")


class PumpLink:
    """Takes directives for a pump and sends its events; the data path never waits for it.

    An address that is taken (a predecessor that still drains, an engine that does have the
    plug-in) is tried again and again: meanwhile the pump holds nothing back.
    """

    def __init__(self, config: LinkConfig, clock: Clock, boot_id: str) -> None:
        self.config = config
        self.is_bound = False
        self._endpoint = ControlEndpoint(config, self._deliver, boot_id=boot_id, clock=clock)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pump: Pump | None = None

    def publish(self, event: Event) -> None:
        """Thread-safe, never blocks; a full buffer drops and counts."""
        self._endpoint.publish(event)

    async def run(self, pump: Pump) -> None:
        """Serve and tick until cancelled."""
        self._loop, self._pump = asyncio.get_running_loop(), pump
        bind_at_s = 0.0
        try:
            while True:
                if not self.is_bound and self._loop.time() >= bind_at_s:
                    bind_at_s = self._loop.time() + BIND_AGAIN_S
                    self._bind()
                await asyncio.sleep(TICK_S)
                pump.tick()
        finally:
            await asyncio.to_thread(self._endpoint.close)

    def _bind(self) -> None:
        try:
            self._endpoint.start()
            self.is_bound = True
        except (LinkConfigError, CurveError, OSError, zmq.ZMQError) as error:
            _log.error("pump of %s takes no directives: %s", self.config.engine_id, error)

    def _deliver(self, request: ControlRequest) -> ControlReply:
        """In the link's thread: let the event loop answer.

        Raises:
            EngineBusyError: it did not come to it in time; nothing was applied.
        """
        assert self._loop is not None
        assert self._pump is not None
        pump, answered = self._pump, Future[ControlReply]()

        def answer() -> None:
            if not answered.set_running_or_notify_cancel():
                return
            try:
                answered.set_result(pump.answer(request))
            except Exception as error:  # noqa: BLE001  becomes a NACK in the link's thread
                answered.set_exception(error)

        self._loop.call_soon_threadsafe(answer)
        try:
            return answered.result(DELIVERY_TIMEOUT_S)
        except TimeoutError as error:
            if not answered.cancel():
                return answered.result(DELIVERY_TIMEOUT_S)
            raise EngineBusyError(
                f"the gateway was busy for {DELIVERY_TIMEOUT_S} s; nothing changed"
            ) from error
