"""Directives on their way to engines: one at a time each, the newest first."""

from __future__ import annotations

import logging
from collections.abc import Callable

from hmas.daemon.control.engines import Delivery, ManagedEngine
from hmas.daemon.links import UnreachableError
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import Clock
from hmas.engine.directive import DirectiveReply
from hmas.storage.records import AckState

log = logging.getLogger(__name__)

Answered = Callable[[ManagedEngine, Delivery], None]


class DirectiveSender:
    """Sends without making anybody wait; ``answered`` hears of every change of an answer."""

    def __init__(self, clock: Clock, tasks: Tasks, answered: Answered) -> None:
        self._clock = clock
        self._tasks = tasks
        self._answered = answered
        self._waiting: dict[str, Delivery] = {}
        self._busy: set[str] = set()

    def is_busy(self, engine_id: str) -> bool:
        return engine_id in self._busy

    def send(self, engine: ManagedEngine, delivery: Delivery) -> None:
        """Of those that wait for a slow engine, only the newest is worth sending."""
        overtaken = self._waiting.get(engine.engine_id)
        if overtaken is not None and not overtaken.renewal:
            self._note(engine, overtaken, AckState.UNREACHABLE, "overtaken by a newer directive")
        self._waiting[engine.engine_id] = delivery
        if engine.engine_id not in self._busy:
            self._busy.add(engine.engine_id)
            self._tasks.start(self._send_waiting(engine), name=f"directives to {engine.engine_id}")

    async def _send_waiting(self, engine: ManagedEngine) -> None:
        try:
            while delivery := self._waiting.pop(engine.engine_id, None):
                await self._send(engine, delivery)
        finally:
            self._busy.discard(engine.engine_id)

    async def _send(self, engine: ManagedEngine, delivery: Delivery) -> None:
        try:
            reply = await engine.link.send(delivery.directive)
        except UnreachableError as error:
            if engine.lost(str(error)):
                log.warning("%s is unreachable: %s", engine.engine_id, error)
            if not delivery.renewal:
                self._note(engine, delivery, AckState.UNREACHABLE, str(error))
            return
        self._accept(engine, delivery, reply)

    def _accept(self, engine: ManagedEngine, delivery: Delivery, reply: DirectiveReply) -> None:
        now_s = self._clock.now_s()
        engine.seen(now_s)
        engine.boot_id = reply.boot_id
        engine.active_version = reply.active_version
        if engine.controller is not None:
            engine.controller.acknowledge(delivery.directive, reply, now_s)
        if reply.accepted:
            engine.confirmed_at_s = now_s
        delivery.step = reply.step
        ack = AckState.ACKED if reply.accepted else AckState.NACKED
        if not delivery.renewal or not reply.accepted:
            self._note(engine, delivery, ack, reply.reason)

    def _note(self, engine: ManagedEngine, delivery: Delivery, ack: AckState, reason: str) -> None:
        delivery.ack, delivery.reason = ack, reason
        delivery.answered_at_s = self._clock.now_s()
        self._answered(engine, delivery)
