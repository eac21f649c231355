"""A port over an invented fleet that moves: for tests and for building the console.

Nothing here measures or controls anything; ``FleetStatus.demo`` says so to every reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Protocol, TypeVar

from hmas.daemon.admin.memory_engine import HISTORY, MemoryEngine
from hmas.daemon.admin.memory_overrides import OverrideBook
from hmas.daemon.admin.pool import topology_pool
from hmas.daemon.admin.port import PageQuery, UnknownThingError, ViewQuery
from hmas.daemon.wire import (
    AuditOut,
    BypassRequest,
    ControlsRequest,
    DecisionOut,
    DirectiveOut,
    FleetStatus,
    GuardEventOut,
    HealthOut,
    LinkHealth,
    LlmHealth,
    LoopHealth,
    OverrideChange,
    OverrideKind,
    OverrideOut,
    OverrideRequest,
    PinRequest,
    RequestOut,
    StorageHealth,
    TopologyOut,
    ViewSeries,
)
from hmas.engine.clock import Clock


class _Row(Protocol):
    @property
    def engine_id(self) -> str: ...


R = TypeVar("R", bound=_Row)


class MemoryPort:
    """``history_s`` seconds are there from the start; time passes when somebody asks."""

    def __init__(
        self,
        clock: Clock,
        engine_ids: Sequence[str] = ("demo-0", "demo-1"),
        unreachable: Iterable[str] = (),
        history_s: int = 900,
        seed: int = 7,
    ) -> None:
        self._clock = clock
        self._started_at_s = float(int(clock.now_s())) - history_s
        self._ticked_s = self._started_at_s
        self._overrides = OverrideBook()
        self._audit: deque[AuditOut] = deque(maxlen=500)
        absent = frozenset(unreachable)
        self._engines = {
            name: MemoryEngine(
                name, offset_s=97.0 * index, reachable=name not in absent, seed=seed + index
            )
            for index, name in enumerate(engine_ids)
        }
        self._catch_up()

    def set_reachable(self, engine_id: str, *, reachable: bool) -> None:
        """Cut or restore the link to one engine."""
        self._engines[engine_id].reachable = reachable

    def _catch_up(self) -> float:
        now_s = self._clock.now_s()
        self._ticked_s = max(self._ticked_s, float(int(now_s)) - HISTORY)
        while self._ticked_s + 1 <= now_s:
            self._ticked_s += 1
            self._overrides.expire(self._ticked_s)
            for engine in self._engines.values():
                engine.tick(self._ticked_s, self._overrides)
        return now_s

    async def status(self) -> FleetStatus:
        now_s = self._catch_up()
        engines = self._engines.values()
        return FleetStatus(
            now_s=now_s,
            started_at_s=self._started_at_s,
            version="demo",
            revision=self._overrides.revision,
            engines=tuple(engine.status(now_s, self._overrides) for engine in engines),
            overrides=tuple(self._overrides.all(now_s)),
            meta_mode="llm",
            demo=True,
        )

    async def views(self, query: ViewQuery) -> ViewSeries:
        self._catch_up()
        engine = self._engine(query.engine_id)
        since_s = query.since_s if query.since_s is not None else 0.0
        short = tuple(view for view in engine.short if view.at_s > since_s)[-query.limit :]
        long = tuple(view for view in engine.long if view.at_s > since_s)[-query.limit :]
        is_short = query.horizon == "short"
        shown = short if is_short else long
        oldest_s = shown[0].at_s if shown else since_s
        return ViewSeries(
            engine_id=query.engine_id,
            horizon=query.horizon,
            short=short if is_short else (),
            long=() if is_short else long,
            switches=tuple(switch for switch in engine.switches if switch.at_s >= oldest_s),
        )

    def _engine(self, engine_id: str) -> MemoryEngine:
        engine = self._engines.get(engine_id)
        if engine is None:
            raise UnknownThingError(f"there is no engine {engine_id!r}", field="engine_id")
        return engine

    async def decisions(self, query: PageQuery) -> list[DecisionOut]:
        self._catch_up()
        rows = chain.from_iterable(engine.decisions for engine in self._engines.values())
        return _page(((row.at_s, row) for row in rows), query)

    async def directives(self, query: PageQuery) -> list[DirectiveOut]:
        self._catch_up()
        rows = chain.from_iterable(engine.directives for engine in self._engines.values())
        return _page(((row.issued_at_s, row) for row in rows), query)

    async def guard_events(self, query: PageQuery) -> list[GuardEventOut]:
        self._catch_up()
        rows = chain.from_iterable(engine.guard_events for engine in self._engines.values())
        return _page(((row.at_s, row) for row in rows), query)

    async def audit(self, query: PageQuery) -> list[AuditOut]:
        return _page(((row.at_s, row) for row in self._audit), query)

    async def request(self, request_id: str) -> RequestOut:
        raise UnknownThingError(
            f"no record of request {request_id!r}; invented fleets serve none", field="request_id"
        )

    async def health(self) -> HealthOut:
        now_s = self._catch_up()
        loops = (("cycle", 0.25), ("v_long", 10.0), ("meta", 60.0), ("retention", 3600.0))
        unreachable = [name for name, engine in self._engines.items() if not engine.reachable]
        return HealthOut(
            ready=True,
            problems=tuple(f"engine {name} does not answer" for name in unreachable),
            loops=tuple(
                LoopHealth(name=name, interval_s=interval_s, last_run_s=now_s)
                for name, interval_s in loops
            ),
            storage=StorageHealth(ok=True, kind="memory"),
            links=tuple(
                LinkHealth(source=name, kind="engine", reachable=engine.reachable)
                for name, engine in self._engines.items()
            ),
            llm=LlmHealth(configured=True, model="demo/llm", last_ok_s=now_s),
        )

    def topologies(self) -> list[TopologyOut]:
        return topology_pool()

    def metrics(self) -> bytes:
        lines = ["# HELP hmas_engines Engines known to the daemon.", "# TYPE hmas_engines gauge"]
        lines.append(f"hmas_engines {len(self._engines)}")
        return ("\n".join(lines) + "\n").encode()

    async def pin(self, request: PinRequest, operator: str) -> OverrideChange:
        return self._write(OverrideKind.PIN, request, operator)

    async def set_controls(self, request: ControlsRequest, operator: str) -> OverrideChange:
        return self._write(OverrideKind.CONTROLS, request, operator)

    async def set_bypass(self, request: BypassRequest, operator: str) -> OverrideChange:
        return self._write(OverrideKind.BYPASS, request, operator)

    async def cancel(
        self,
        kind: OverrideKind,
        override_id: str,
        operator: str,
        expected_revision: int | None = None,
    ) -> OverrideChange:
        now_s = self._catch_up()
        override = self._overrides.cancel(kind, override_id, now_s, expected_revision)
        self._record(f"cancel {kind}", override, operator, now_s)
        return OverrideChange(override=override, revision=self._overrides.revision)

    def _write(self, kind: OverrideKind, request: OverrideRequest, operator: str) -> OverrideChange:
        now_s = self._catch_up()
        override = self._overrides.add(kind, request, operator, now_s)
        self._record(str(kind), override, operator, now_s)
        return OverrideChange(override=override, revision=self._overrides.revision)

    def _record(self, action: str, override: OverrideOut, operator: str, now_s: float) -> None:
        self._audit.append(
            AuditOut(
                id=f"audit-{len(self._audit) + 1}",
                at_s=now_s,
                actor=operator,
                action=action,
                engine_id=override.engine_id,
                sentence=override.reason,
                inputs=override.model_dump(mode="json", exclude_none=True),
                result="done",
            )
        )


def _page(rows: Iterable[tuple[float, R]], query: PageQuery) -> list[R]:
    kept = [
        (at_s, row)
        for at_s, row in rows
        if query.engine_id in {None, row.engine_id}
        and (query.since_s is None or at_s > query.since_s)
        and (query.before_s is None or at_s < query.before_s)
    ]
    kept.sort(key=lambda pair: pair[0], reverse=True)
    return [row for _, row in kept[: query.limit]]
