"""How the daemon is: for probes, operators and Prometheus, read from the state when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry, generate_latest

from hmas.daemon import wire
from hmas.daemon.control.engines import Fleet
from hmas.daemon.control.metrics import DaemonCollector
from hmas.daemon.control.runner import LoopStats
from hmas.daemon.links import EventReceiver
from hmas.engine.clock import Clock
from hmas.storage.writer import WriterStats

LATE_AFTER_INTERVALS = 4.0
LATE_AFTER_S = 2.0


class Storage(Protocol):
    """The writer's side of storage."""

    def stats(self) -> WriterStats: ...


class Health:
    """Asks everybody; nobody reports."""

    def __init__(
        self,
        fleet: Fleet,
        gateways: EventReceiver,
        storage: Storage,
        *,
        clock: Clock,
        storage_kind: str,
        loops: Callable[[], Iterable[LoopStats]],
        llm: Callable[[], wire.LlmHealth],
        refusals: Mapping[str, int],
        reloads: Mapping[str, int],
    ) -> None:
        self._fleet = fleet
        self._gateways = gateways
        self._storage = storage
        self._clock = clock
        self._storage_kind = storage_kind
        self._loops = loops
        self._llm = llm
        self._registry = CollectorRegistry()
        self._registry.register(
            DaemonCollector(
                fleet,
                gateways,
                storage=storage.stats,
                loops=loops,
                refusals=refusals,
                reloads=reloads,
            )
        )

    def metrics(self) -> bytes:
        """Prometheus text exposition."""
        return generate_latest(self._registry)

    def report(self) -> wire.HealthOut:
        """Ready means that the loops turn; a silent engine is a problem, not unreadiness."""
        now_s = self._clock.now_s()
        loops = tuple(self._loops())
        late = [stats for stats in loops if is_late(stats, now_s)]
        storage = self._storage_health()
        links = (*self._engine_links(now_s), *self._gateway_links())
        return wire.HealthOut(
            ready=not late,
            problems=tuple(self._problems(late, storage, links)),
            loops=tuple(_loop_health(stats) for stats in loops),
            storage=storage,
            links=links,
            llm=self._llm(),
        )

    def _storage_health(self) -> wire.StorageHealth:
        stats = self._storage.stats()
        return wire.StorageHealth(
            ok=not stats.last_error,
            kind=self._storage_kind,
            pending=stats.pending,
            lost=sum(stats.lost.values()),
            last_error=stats.last_error,
        )

    def _engine_links(self, now_s: float) -> list[wire.LinkHealth]:
        return [
            wire.LinkHealth(
                source=engine.engine_id,
                kind="engine",
                reachable=engine.reachable,
                last_event_age_s=None
                if engine.last_seen_s is None
                else max(0.0, now_s - engine.last_seen_s),
                gaps=engine.missed_batches,
                dropped=engine.dropped_events,
            )
            for engine in self._fleet
        ]

    def _gateway_links(self) -> list[wire.LinkHealth]:
        return [
            wire.LinkHealth(
                source=source,
                kind="gateway",
                reachable=True,
                gaps=watch.missed_batches,
                dropped=watch.dropped_events,
            )
            for source, watch in self._gateways.watches.items()
        ]

    def _problems(
        self,
        late: list[LoopStats],
        storage: wire.StorageHealth,
        links: Iterable[wire.LinkHealth],
    ) -> Iterable[str]:
        if not len(self._fleet):
            yield "no engine is known: start one, or list it under engines:"
        for engine in self._fleet:
            if not engine.reachable:
                yield f"engine {engine.engine_id} is unreachable: {engine.problem}"
        for stats in late:
            yield f"loop {stats.name} has not run for longer than it should"
        for stats in self._loops():
            if stats.failures:
                yield f"loop {stats.name} failed {stats.failures} times, last: {stats.last_error}"
        if not storage.ok:
            yield f"storage cannot write, {storage.pending} records wait: {storage.last_error}"
        if storage.lost:
            yield f"storage lost {storage.lost} records"
        for link in links:
            if link.gaps or link.dropped:
                yield (
                    f"{link.kind} {link.source}: {link.gaps} event batches lost on the way, "
                    f"{link.dropped} events dropped at the source"
                )


def is_late(stats: LoopStats, now_s: float) -> bool:
    """Whether a loop should have run again long ago."""
    if stats.last_run_s is None:
        return False
    allowed_s = stats.interval_s * LATE_AFTER_INTERVALS + LATE_AFTER_S
    return now_s - stats.last_run_s > allowed_s


def _loop_health(stats: LoopStats) -> wire.LoopHealth:
    return wire.LoopHealth(
        name=stats.name,
        interval_s=stats.interval_s,
        last_run_s=stats.last_run_s,
        lag_s=stats.lag_s,
        runs=stats.runs,
        failures=stats.failures,
        last_error=stats.last_error,
    )
