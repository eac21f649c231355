"""Finds engines, lets them describe themselves, and notices when they restart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import zmq.asyncio

from hmas.controllers.config import ControlConfig
from hmas.controllers.decisions import ResumeState
from hmas.controllers.engine_controller import EngineController
from hmas.daemon.control.engines import Fleet, ManagedEngine, live_sockets
from hmas.daemon.control.router import EventRouter
from hmas.daemon.links import EngineLink, EventReceiver, RequestLink, UnreachableError
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import Clock
from hmas.engine.directive import EngineDescription
from hmas.engine.link.config import LinkConfig

log = logging.getLogger(__name__)

FORGET_AFTER_S = 600.0
"""A found engine (not a configured one) that is gone for this long is not shown any more."""

Resume = Callable[[str], Awaitable[ResumeState | None]]


class Discovery:
    """One method, :meth:`look`: everything that is found or lost follows from it."""

    def __init__(
        self,
        fleet: Fleet,
        router: EventRouter,
        context: zmq.asyncio.Context,
        *,
        clock: Clock,
        tasks: Tasks,
        resume: Resume,
        control: ControlConfig,
        configured: Sequence[LinkConfig] = (),
        directory: Path | None = None,
        timeout_s: float = 1.0,
    ) -> None:
        self._fleet = fleet
        self._router = router
        self._context = context
        self._clock = clock
        self._tasks = tasks
        self._resume = resume
        self._control = control
        self._configured = {config.engine_id: config for config in configured}
        self._directory = directory
        self._timeout_s = timeout_s
        self._listening: dict[str, asyncio.Task[None]] = {}

    async def look(self, now_s: float) -> None:
        """Add what is new, ask who must describe itself, forget what is long gone."""
        for config in self._links():
            if config.engine_id not in self._fleet:
                self._add(config, now_s)
        await asyncio.gather(
            *(self._describe(engine) for engine in self._fleet if needs_description(engine))
        )
        for engine in self._fleet:
            if self._is_gone(engine, now_s):
                self._forget(engine)

    def reconfigure(self, control: ControlConfig) -> None:
        """New settings of the controllers: they go on from where they are."""
        if control == self._control:
            return
        self._control = control
        for engine, controller in self._fleet.controlled():
            assert engine.description is not None
            engine.controller = EngineController(
                engine.description, control, controller.resume_state()
            )

    def _links(self) -> list[LinkConfig]:
        found = live_sockets(self._directory) if self._directory is not None else []
        return [*self._configured.values(), *found]

    def _add(self, config: LinkConfig, now_s: float) -> None:
        requests = RequestLink(
            self._context, config.control_endpoint, timeout_s=self._timeout_s, curve=config.curve
        )
        events = EventReceiver.connected(
            self._context, config.events_endpoint, lambda _: None, config.curve
        )
        engine = ManagedEngine(
            config=config,
            link=EngineLink(requests, events),
            configured=config.engine_id in self._configured,
            found_at_s=now_s,
        )
        events.handle = partial(self._router.from_engine, engine)
        self._fleet.add(engine)
        self._listening[config.engine_id] = self._tasks.start(
            events.run(), name=f"events of {config.engine_id}"
        )
        log.info("%s: control link %s", config.engine_id, config.control_endpoint)

    async def _describe(self, engine: ManagedEngine) -> None:
        try:
            description = await engine.link.describe()
        except UnreachableError as error:
            if engine.lost(str(error)):
                log.warning("%s is unreachable: %s", engine.engine_id, error)
            return
        await self._adopt(engine, description)

    async def _adopt(self, engine: ManagedEngine, description: EngineDescription) -> None:
        if engine.controller is None:
            resume = await self._resume(engine.engine_id)
            engine.controller = EngineController(description, self._control, resume)
            known = "from where it was left" if resume else "without a past"
            log.info("%s: %s, controlled %s", engine.engine_id, in_words(description), known)
        elif engine.description is None or engine.description.boot_id != description.boot_id:
            engine.controller.describe(description, self._clock.now_s())
            log.warning("%s has restarted: %s", engine.engine_id, in_words(description))
        engine.description = description
        engine.boot_id = description.boot_id
        engine.active_version = description.active.version if description.active else 0
        engine.seen(self._clock.now_s())

    def close(self) -> None:
        """Every link; the tasks that listen on them belong to their owner."""
        for engine in self._fleet:
            engine.link.close()

    def _is_gone(self, engine: ManagedEngine, now_s: float) -> bool:
        if engine.configured or engine.reachable:
            return False
        return now_s - (engine.last_seen_s or engine.found_at_s) > FORGET_AFTER_S

    def _forget(self, engine: ManagedEngine) -> None:
        log.warning("%s is gone since %g s and forgotten", engine.engine_id, FORGET_AFTER_S)
        self._fleet.remove(engine.engine_id)
        self._listening.pop(engine.engine_id).cancel()
        engine.link.close()


def needs_description(engine: ManagedEngine) -> bool:
    """Never described, lost, or restarted since."""
    described = engine.description
    return described is None or not engine.reachable or described.boot_id != engine.boot_id


def in_words(description: EngineDescription) -> str:
    return f"{description.kind} {description.kind_version} with {description.model}"
