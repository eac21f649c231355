"""Keeps children running: starts them, restarts with back-off, stops them in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from typing import Any

from hmas.daemon.supervise.child import Child, ChildSpec, log_tail
from hmas.daemon.supervise.probe import wait_until_ready
from hmas.daemon.tasks import Tasks

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 30.0
SETTLED_AFTER_S = 60.0
"""A child that ran this long starts again after the shortest pause."""
USAGE_EXIT = 2
"""Starting it again would not help."""


class Phase(StrEnum):
    STARTING = "starting"
    READY = "ready"
    DIED = "died"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one child; ``detail`` for people."""

    name: str
    phase: Phase
    detail: str = ""


class StartError(RuntimeError):
    """A child cannot be started at all; the message holds the end of its log."""


class Supervisor:
    """Children by name, in the order in which they are started."""

    def __init__(
        self, specs: Sequence[ChildSpec], tell: Callable[[Change], None], tasks: Tasks
    ) -> None:
        self._specs = specs
        self._tell = tell
        self._tasks = tasks
        self._children: dict[str, Child] = {}
        self._ready = {spec.name: asyncio.Event() for spec in specs}
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopping = False

    async def start(self, timeout_s: float) -> None:
        """All at once; returns when every one of them is ready.

        Raises:
            StartError: one of them cannot be, or not in time.
        """
        for spec in self._specs:
            self._tasks.start(self._keep_running(spec), name=f"keep {spec.name}")
        await self._or_failure(self._everyone_is_ready(), timeout_s)
        late = [name for name, event in self._ready.items() if not event.is_set()]
        if late:
            raise StartError(f"{', '.join(late)}: not ready after {timeout_s:g} s")

    async def run_until(self, stop: asyncio.Event) -> None:
        """Watch over them. Raises :class:`StartError` when one cannot be kept running."""
        await self._or_failure(stop.wait())

    async def _everyone_is_ready(self) -> None:
        for event in self._ready.values():
            await event.wait()

    async def _or_failure(
        self, awaited: Coroutine[Any, Any, object], timeout_s: float | None = None
    ) -> None:
        """Wait for ``awaited``, the first failure, or the end of the time."""
        task = self._tasks.start(awaited, name="wait")
        either: set[asyncio.Future[Any]] = {task, self._failed}
        await asyncio.wait(either, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        if self._failed.done():
            self._failed.result()

    async def stop(self) -> None:
        """The last one started is the first one stopped."""
        self._stopping = True
        await self._tasks.close()
        for spec in reversed(self._specs):
            child = self._children.pop(spec.name, None)
            if child is not None and child.exit_code is None:
                await child.stop()
                self._tell(Change(spec.name, Phase.STOPPED))

    def pid_of(self, name: str) -> int | None:
        child = self._children.get(name)
        return child.pid if child is not None else None

    async def _keep_running(self, spec: ChildSpec) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            began = monotonic()
            code = await self._run_once(spec)
            if code == USAGE_EXIT:
                self._fail(spec, f"ended with {code}, and would do so again")
                return
            if monotonic() - began > SETTLED_AFTER_S:
                pause_s = FIRST_PAUSE_S
            self._tell(Change(spec.name, Phase.DIED, f"exit {code}, again in {pause_s:g} s"))
            await asyncio.sleep(pause_s)
            pause_s = min(MAX_PAUSE_S, pause_s * 2)

    async def _run_once(self, spec: ChildSpec) -> int:
        self._tell(Change(spec.name, Phase.STARTING))
        child = self._children[spec.name] = await Child.start(spec)
        watching = self._tasks.start(self._watch(spec), name=f"watch {spec.name}")
        try:
            return await child.wait()
        finally:
            watching.cancel()

    async def _watch(self, spec: ChildSpec) -> None:
        await wait_until_ready(spec.ready_url)
        self._ready[spec.name].set()
        self._tell(Change(spec.name, Phase.READY))

    def _fail(self, spec: ChildSpec, detail: str) -> None:
        self._tell(Change(spec.name, Phase.FAILED, detail))
        if not self._failed.done():
            tail = log_tail(spec.log)
            self._failed.set_exception(
                StartError(f"{spec.name} {detail}; {spec.log} ends:\n{tail}")
            )
