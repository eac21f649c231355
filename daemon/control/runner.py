"""Loops on APScheduler: each run coalesced, never twice at once, late ones measured."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from hmas.engine.clock import Clock

log = logging.getLogger(__name__)

Body = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class LoopStats:
    """How one loop is doing. ``lag_s`` is how late its last run started."""

    name: str
    interval_s: float
    runs: int = 0
    failures: int = 0
    last_error: str = ""
    last_run_s: float | None = None
    lag_s: float = 0.0
    took_s: float = 0.0


class Loop:
    """A body that is called with the time; its failures are logged and counted, never fatal.

    ``first_s``: when the first run is due after the start; None: one interval.
    """

    def __init__(
        self,
        name: str,
        interval_s: float,
        body: Body,
        clock: Clock,
        *,
        first_s: float | None = None,
    ) -> None:
        self.stats = LoopStats(name, interval_s)
        self.clock = clock
        self.first_s = first_s
        self._body = body
        self._due: float | None = None

    async def run_once(self) -> None:
        stats, began = self.stats, monotonic()
        stats.lag_s = max(0.0, began - self._due) if self._due is not None else 0.0
        self._due = began + stats.interval_s
        stats.last_run_s = self.clock.now_s()
        stats.runs += 1
        try:
            await self._body(stats.last_run_s)
        except Exception as error:
            stats.failures += 1
            stats.last_error = f"{type(error).__name__}: {error}"
            log.exception("loop %s failed", stats.name)
        stats.took_s = monotonic() - began


class Runner:
    """Triggers loops at their intervals until stopped."""

    def __init__(self, loops: list[Loop]) -> None:
        self.loops = {loop.stats.name: loop for loop in loops}
        self._scheduler = AsyncIOScheduler(
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        # Skipped runs show as lag, failed ones are logged by the loop itself.
        logging.getLogger("apscheduler").setLevel(logging.CRITICAL)

    def start(self) -> None:
        """Inside the running event loop."""
        for name, loop in self.loops.items():
            interval_s = loop.stats.interval_s
            first_s = interval_s if loop.first_s is None else loop.first_s
            self._scheduler.add_job(
                loop.run_once,
                IntervalTrigger(seconds=interval_s, timezone=UTC),
                id=name,
                next_run_time=datetime.fromtimestamp(loop.clock.now_s() + first_s, UTC),
            )
        self._scheduler.start()

    def change_interval(self, name: str, interval_s: float) -> None:
        """From the next run on."""
        stats = self.loops[name].stats
        if stats.interval_s != interval_s:
            stats.interval_s = interval_s
            trigger = IntervalTrigger(seconds=interval_s, timezone=UTC)
            self._scheduler.reschedule_job(name, trigger=trigger)

    def stop(self) -> None:
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
