"""Background tasks: kept alive, named, their failures logged and counted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Tasks that nobody awaits. One object per owner; ``close`` ends them all."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._running: set[asyncio.Task[Any]] = set()
        self.failures = 0

    def spawn(self, work: Coroutine[Any, Any, object], name: str) -> asyncio.Task[Any]:
        """Start ``work`` now; an exception in it is logged and counted, never lost."""
        task = asyncio.get_running_loop().create_task(work, name=f"{self._owner}:{name}")
        self._running.add(task)
        task.add_done_callback(self._finished)
        return task

    def __len__(self) -> int:
        return len(self._running)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.failures += 1
            log.error("%s failed", task.get_name(), exc_info=error)

    async def close(self) -> None:
        """Cancel what still runs and wait until it is gone."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
