"""The admin API's port over the running daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

import hmas
from hmas.controllers.views import VLong, VShort
from hmas.daemon import wire
from hmas.daemon.admin.pool import topology_pool
from hmas.daemon.admin.port import (
    PageQuery,
    RevisionConflictError,
    UnavailableError,
    UnknownThingError,
    ViewQuery,
)
from hmas.daemon.control import shown
from hmas.daemon.control.engines import Fleet, ManagedEngine
from hmas.daemon.control.executor import Executor
from hmas.daemon.control.health import Health
from hmas.daemon.control.overrides import OverrideBook, RevisionError, UnknownOverrideError
from hmas.engine.clock import Clock
from hmas.storage.errors import StorageError
from hmas.storage.records import Horizon, OverrideKind, OverrideRecord
from hmas.storage.store import AuditFilter, Cursor, DecisionFilter, Store

T = TypeVar("T")

FLUSH_S = 0.3
"""A reader waits this long for what was just done to be written; it sees its own writes."""


class DaemonPort:
    """Implements :class:`hmas.daemon.admin.port.ControlPort`."""

    def __init__(
        self,
        fleet: Fleet,
        book: OverrideBook,
        executor: Executor,
        health: Health,
        *,
        store: Callable[[], Store],
        flush: Callable[[float], bool],
        clock: Clock,
        meta_mode: str,
        window_s: float,
    ) -> None:
        self._fleet = fleet
        self._book = book
        self._executor = executor
        self._health = health
        self._store = store
        self._flush = flush
        self._clock = clock
        self.meta_mode = meta_mode
        self.window_s = window_s
        self._started_at_s = clock.now_s()

    # What is -------------------------------------------------------------------------------

    async def status(self) -> wire.FleetStatus:
        now_s = self._clock.now_s()
        self._executor.expire(self._book, now_s)
        overrides = tuple(shown.override_out(record, now_s) for record in self._book.held())
        engines = sorted(self._fleet, key=lambda engine: engine.engine_id)
        return wire.FleetStatus(
            now_s=now_s,
            started_at_s=self._started_at_s,
            version=hmas.__version__,
            revision=self._book.revision,
            engines=tuple(self._status_of(engine, overrides, now_s) for engine in engines),
            overrides=overrides,
            meta_mode=self.meta_mode,
        )

    def _status_of(
        self, engine: ManagedEngine, overrides: tuple[wire.OverrideOut, ...], now_s: float
    ) -> wire.EngineStatus:
        targets = {wire.ALL_ENGINES, engine.engine_id}
        own = tuple(override for override in overrides if override.engine_id in targets)
        return shown.engine_status(engine, own, now_s, self.window_s)

    async def health(self) -> wire.HealthOut:
        return self._health.report()

    def topologies(self) -> list[wire.TopologyOut]:
        return topology_pool()

    def metrics(self) -> bytes:
        return self._health.metrics()

    # What was ------------------------------------------------------------------------------

    async def views(self, query: ViewQuery) -> wire.ViewSeries:
        engine = self._fleet.get(query.engine_id)
        if engine is None:
            raise UnknownThingError(f"there is no engine {query.engine_id!r}", field="engine_id")
        short: list[VShort] = []
        long: list[VLong] = []
        if query.horizon is wire.Horizon.SHORT:
            short = await self._series(query, list(engine.history.short), VShort)
        else:
            long = await self._series(query, list(engine.history.long), VLong)
        times = [view.at_s for view in short] or [view.end_s for view in long]
        oldest_s = times[0] if times else (query.since_s or 0.0)
        return wire.ViewSeries(
            engine_id=query.engine_id,
            horizon=query.horizon,
            short=tuple(shown.view_point(view, self.window_s) for view in short),
            long=tuple(shown.long_view_point(view) for view in long),
            switches=tuple(
                shown.switch_out(engine.engine_id, switch)
                for switch in engine.history.switches
                if switch.at_s >= oldest_s
            ),
        )

    async def _series(self, query: ViewQuery, recent: list[T], kind: type[T]) -> list[T]:
        """From memory where that reaches back far enough, else from storage."""
        since_s = query.since_s if query.since_s is not None else 0.0
        kept = [view for view in recent if _time_of(view) > since_s]
        complete = len(kept) < len(recent) or len(kept) >= query.limit
        if not complete:
            horizon = Horizon(query.horizon.value)
            rows = await self._read(
                lambda store: store.views(
                    query.engine_id, horizon, since_s=query.since_s, limit=query.limit
                )
            )
            stored = [msgspec.convert(row.payload, kind, strict=False) for row in reversed(rows)]
            newest_s = _time_of(stored[-1]) if stored else 0.0
            kept = [v for v in stored if _time_of(v) > since_s] + [
                view for view in kept if _time_of(view) > newest_s
            ]
        return kept[-query.limit :]

    async def decisions(self, query: PageQuery) -> list[wire.DecisionOut]:
        where = DecisionFilter(engine_id=query.engine_id)
        rows = await self._read(
            lambda store: store.decisions(where, before=_before(query), limit=query.limit)
        )
        kept = [row for row in rows if _is_after(row.at_s, query)]
        versions = await self._read(lambda store: store.caused_versions([row.id for row in kept]))
        return [shown.decision_out(row, versions.get(row.id)) for row in kept]

    async def directives(self, query: PageQuery) -> list[wire.DirectiveOut]:
        ids = [query.engine_id] if query.engine_id else [e.engine_id for e in self._fleet]
        rows = await self._read(
            lambda store: [row for name in ids for row in store.directives(name, limit=1000)]
        )
        end_s = query.before_s if query.before_s is not None else float("inf")
        kept = [r for r in rows if _is_after(r.issued_at_s, query) and r.issued_at_s < end_s]
        kept.sort(key=lambda row: row.issued_at_s, reverse=True)
        return [shown.directive_out(row) for row in kept[: query.limit]]

    async def guard_events(self, query: PageQuery) -> list[wire.GuardEventOut]:
        rows = await self._read(
            lambda store: store.guard_events(
                engine_id=query.engine_id, since_s=query.since_s, limit=query.limit
            )
        )
        end_s = query.before_s if query.before_s is not None else float("inf")
        return [shown.guard_out(row) for row in rows if row.at_s < end_s]

    async def audit(self, query: PageQuery) -> list[wire.AuditOut]:
        where = AuditFilter(engine_id=query.engine_id)
        rows = await self._read(
            lambda store: store.audit(where, before=_before(query), limit=query.limit)
        )
        return [shown.audit_out(row) for row in rows if _is_after(row.at_s, query)]

    async def request(self, request_id: str) -> wire.RequestOut:
        record = await self._read(lambda store: store.request(request_id))
        if record is None:
            raise UnknownThingError(
                f"no record of request {request_id!r}; it may not have been sampled",
                field="request_id",
            )
        return shown.request_out(record)

    async def _read(self, read: Callable[[Store], T]) -> T:
        def look() -> T:
            self._flush(FLUSH_S)
            return read(self._store())

        try:
            return await asyncio.to_thread(look)
        except StorageError as error:
            raise UnavailableError(str(error), fix="see storage in /hmas/v1/health") from error

    # What shall be -------------------------------------------------------------------------

    async def pin(self, request: wire.PinRequest, operator: str) -> wire.OverrideChange:
        payload = {"topology": request.topology, "hints": request.hints}
        return self._override(OverrideKind.PIN, request, payload, operator)

    async def set_controls(
        self, request: wire.ControlsRequest, operator: str
    ) -> wire.OverrideChange:
        payload = {"n_run": request.n_run, "token_budget": request.token_budget}
        given = {name: value for name, value in payload.items() if value is not None}
        return self._override(OverrideKind.CONTROLS, request, given, operator)

    async def set_bypass(self, request: wire.BypassRequest, operator: str) -> wire.OverrideChange:
        return self._override(OverrideKind.BYPASS_SWITCH, request, {}, operator)

    def _override(
        self,
        kind: OverrideKind,
        request: wire.OverrideRequest,
        payload: Mapping[str, Any],
        operator: str,
    ) -> wire.OverrideChange:
        self._check_revision(request.expected_revision)
        now_s = self._clock.now_s()
        added, *replaced = self._book.put(
            kind,
            request.engine_id,
            dict(payload),
            reason=request.reason,
            owner=operator,
            now_s=now_s,
            expires_at_s=request.end_s(now_s),
        )
        for record in replaced:
            self._executor.override_changed(record, actor=operator, action="replace")
        self._executor.override_changed(added, actor=operator, action="set")
        return self._change(added, now_s)

    async def cancel(
        self,
        kind: wire.OverrideKind,
        override_id: str,
        operator: str,
        expected_revision: int | None = None,
    ) -> wire.OverrideChange:
        self._check_revision(expected_revision)
        stored_kind = next(ours for ours, theirs in shown.KINDS.items() if theirs is kind)
        now_s = self._clock.now_s()
        try:
            record = self._book.cancel(stored_kind, override_id, operator, now_s)
        except UnknownOverrideError as error:
            raise UnknownThingError(
                f"there is no {kind} {override_id!r}; it may have ended",
                field="override_id",
                fix="GET /hmas/v1/overrides lists those that hold",
            ) from error
        self._executor.override_changed(record, actor=operator, action="cancel")
        return self._change(record, now_s)

    def _check_revision(self, expected: int | None) -> None:
        try:
            self._book.check(expected)
        except RevisionError as error:
            raise RevisionConflictError(error.expected, error.current) from error

    def _change(self, record: OverrideRecord, now_s: float) -> wire.OverrideChange:
        return wire.OverrideChange(
            override=shown.override_out(record, now_s), revision=self._book.revision
        )


def _time_of(view: object) -> float:
    if isinstance(view, VLong):
        return view.end_s
    assert isinstance(view, VShort)
    return view.at_s


def _before(query: PageQuery) -> Cursor | None:
    return None if query.before_s is None else Cursor(query.before_s, "")


def _is_after(at_s: float, query: PageQuery) -> bool:
    return query.since_s is None or at_s > query.since_s
