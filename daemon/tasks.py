"""The one wrapper around asyncio task creation: failures are logged and counted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_log = logging.getLogger("hmas.tasks")


class Tasks:
    """Background tasks of one owner; keeps them referenced until they end.

    Attributes:
        failures: tasks that ended with an exception (a cancelled task did not fail).
    """

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()
        self.failures = 0

    def __len__(self) -> int:
        return len(self._running)

    def start(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Run ``coroutine`` in the background of the current event loop."""
        task = asyncio.create_task(coroutine, name=name)  # noqa: TID251  the one exception
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.failures += 1
            _log.error("task %s failed", task.get_name(), exc_info=error)

    async def close(self, *, timeout_s: float = 5.0) -> None:
        """Cancel what still runs and wait for it, at most ``timeout_s``."""
        pending = [task for task in self._running if task is not asyncio.current_task()]
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending, timeout=timeout_s)
