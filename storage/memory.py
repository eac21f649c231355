"""A store without a disk: for tests, the demo and virtual time. Same contract as SQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any, TypeVar, cast

from hmas.storage.canonical import canonical, cleaned_text
from hmas.storage.records import (
    ALL_ENGINES,
    AuditRecord,
    CalibrationRecord,
    DecisionRecord,
    DirectiveRecord,
    GuardEventRecord,
    Horizon,
    Key,
    OverrideRecord,
    PromptVersionRecord,
    Record,
    RequestRecord,
    ResumeRecord,
    TrainingRecord,
    ViewRecord,
)
from hmas.storage.store import (
    DEFAULT_LIMIT,
    AuditFilter,
    Cursor,
    DecisionFilter,
    checked_limit,
)

R = TypeVar("R", bound=Record)


class MemoryStore:
    """Implements :class:`hmas.storage.store.Store` with dictionaries and one lock."""

    def __init__(self) -> None:
        self._tables: dict[type[Record], dict[Key, Record]] = defaultdict(dict)
        self._lock = RLock()

    def append(self, records: Sequence[Record]) -> None:
        checked = [canonical(record) for record in records]
        with self._lock:
            for record in checked:
                self._tables[type(record)][record.key] = record

    def close(self) -> None:
        """Nothing to give back."""

    def views(
        self,
        engine_id: str,
        horizon: Horizon,
        *,
        since_s: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[ViewRecord]:
        found = self._matching(ViewRecord, engine_id=engine_id, horizon=horizon)
        return _newest(_since(found, since_s), limit)

    def view(self, engine_id: str, horizon: Horizon, at_s: float) -> ViewRecord | None:
        return self._one(ViewRecord, engine_id, horizon, at_s)

    def decisions(
        self,
        where: DecisionFilter = DecisionFilter(),  # noqa: B008 - frozen
        *,
        before: Cursor | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[DecisionRecord]:
        found = self._matching(DecisionRecord, **_given(where))
        return _newest((r for r in found if _is_before(r, before)), limit)

    def decision(self, decision_id: str) -> DecisionRecord | None:
        return self._one(DecisionRecord, decision_id)

    def latest_directive(self, engine_id: str) -> DirectiveRecord | None:
        return next(iter(self.directives(engine_id, limit=1)), None)

    def directives(
        self, engine_id: str, *, before_version: int | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[DirectiveRecord]:
        found = [
            record
            for record in self._matching(DirectiveRecord, engine_id=engine_id)
            if before_version is None or record.version < before_version
        ]
        return _sorted(found, lambda record: (record.version,), limit)

    def last_version(self, engine_id: str) -> int:
        latest = self.latest_directive(engine_id)
        return 0 if latest is None else latest.version

    def caused_versions(self, causes: Sequence[str]) -> dict[str, int]:
        wanted, first = set(causes), dict[str, int]()
        for record in self._matching(DirectiveRecord):
            if record.cause in wanted:
                first[record.cause] = min(record.version, first.get(record.cause, record.version))
        return first

    def active_overrides(
        self, now_s: float, *, engine_id: str | None = None
    ) -> list[OverrideRecord]:
        found = self._overrides_of(engine_id)
        return _sorted([r for r in found if r.is_active(now_s)], _by_creation, None)

    def overrides(
        self, *, engine_id: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[OverrideRecord]:
        return _sorted(self._overrides_of(engine_id), _by_creation, limit)

    def override(self, override_id: str) -> OverrideRecord | None:
        return self._one(OverrideRecord, override_id)

    def guard_events(
        self,
        *,
        engine_id: str | None = None,
        since_s: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[GuardEventRecord]:
        found = self._matching(GuardEventRecord, engine_id=engine_id)
        return _newest(_since(found, since_s), limit)

    def calibration(self, engine_id: str) -> list[CalibrationRecord]:
        found = self._matching(CalibrationRecord, engine_id=engine_id)
        return sorted(found, key=lambda record: record.bucket)

    def resume(self, engine_id: str) -> ResumeRecord | None:
        return self._one(ResumeRecord, engine_id)

    def request(self, request_id: str) -> RequestRecord | None:
        found = self._matching(RequestRecord, request_id=request_id)
        return next(iter(_newest(found, 1)), None)

    def requests(
        self,
        *,
        engine_id: str | None = None,
        tenant: str | None = None,
        since_s: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[RequestRecord]:
        found = self._matching(RequestRecord, engine_id=engine_id, tenant=tenant)
        return _newest(_since(found, since_s), limit)

    def training(
        self, *, before: Cursor | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[TrainingRecord]:
        return _newest((r for r in self._all(TrainingRecord) if _is_before(r, before)), limit)

    def prompt_versions(self, name: str) -> list[PromptVersionRecord]:
        found = self._matching(PromptVersionRecord, name=name)
        return sorted(found, key=lambda record: record.version, reverse=True)

    def active_prompt(self, name: str) -> PromptVersionRecord | None:
        return next((r for r in self.prompt_versions(name) if r.active), None)

    def audit(
        self,
        where: AuditFilter = AuditFilter(),  # noqa: B008 - frozen
        *,
        before: Cursor | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[AuditRecord]:
        found = self._matching(AuditRecord, **_given(where))
        return _newest((r for r in found if _is_before(r, before)), limit)

    def expire(self, record_type: type[Record], before_s: float, limit: int) -> int:
        old = [record for record in self._all(record_type) if self._is_expired(record, before_s)]
        return self._remove(sorted(old, key=lambda record: record.time_s)[: checked_limit(limit)])

    def expire_beyond(self, record_type: type[Record], keep: int, limit: int) -> int:
        newest_first = _sorted(self._all(record_type), lambda r: (r.time_s, *r.key), None)
        return self._remove(newest_first[keep:][::-1][: checked_limit(limit)])

    def expire_views(self, horizon: Horizon, before_s: float, limit: int) -> int:
        return self._remove(self.oldest_views(horizon, before_s, limit))

    def oldest_views(self, horizon: Horizon, before_s: float, limit: int) -> list[ViewRecord]:
        found = [r for r in self._matching(ViewRecord, horizon=horizon) if r.at_s < before_s]
        return sorted(found, key=lambda r: (r.at_s, r.engine_id))[: checked_limit(limit)]

    def replace_views(self, removed: Sequence[ViewRecord], added: Sequence[ViewRecord]) -> None:
        with self._lock:
            self._remove(removed)
            self.append(added)

    def _all(self, record_type: type[R]) -> list[R]:
        with self._lock:
            return cast("list[R]", list(self._tables[record_type].values()))

    def _one(self, record_type: type[R], *key: str | float) -> R | None:
        cleaned = tuple(cleaned_text(part) if isinstance(part, str) else part for part in key)
        with self._lock:
            return cast("R | None", self._tables[record_type].get(cleaned))

    def _matching(self, record_type: type[R], **wanted: str | None) -> list[R]:
        given = {name: cleaned_text(text) for name, text in wanted.items() if text is not None}
        return [
            record
            for record in self._all(record_type)
            if all(getattr(record, name) == value for name, value in given.items())
        ]

    def _overrides_of(self, engine_id: str | None) -> list[OverrideRecord]:
        concerned = (ALL_ENGINES, engine_id)
        found = self._all(OverrideRecord)
        return [r for r in found if engine_id is None or r.engine_id in concerned]

    def _is_expired(self, record: Record, before_s: float) -> bool:
        if isinstance(record, DirectiveRecord):
            is_latest = record.version == self.last_version(record.engine_id)
            return record.time_s < before_s and not is_latest
        if isinstance(record, OverrideRecord):
            ends_s = (record.revoked_at_s, record.expires_at_s)
            return any(end_s is not None and end_s < before_s for end_s in ends_s)
        return record.time_s < before_s

    def _remove(self, records: Sequence[Record]) -> int:
        with self._lock:
            for record in records:
                self._tables[type(record)].pop(record.key, None)
        return len(records)


def _given(where: DecisionFilter | AuditFilter) -> dict[str, str | None]:
    return {name: getattr(where, name) for name in where.__struct_fields__}


def _is_before(
    record: DecisionRecord | AuditRecord | TrainingRecord, cursor: Cursor | None
) -> bool:
    return cursor is None or (record.at_s, record.id) < (cursor.at_s, cursor.id)


def _since(records: Iterable[R], since_s: float | None) -> Iterable[R]:
    return (record for record in records if since_s is None or record.time_s >= since_s)


def _by_creation(record: OverrideRecord) -> tuple[float, str]:
    return (record.created_at_s, record.id)


def _newest(records: Iterable[R], limit: int) -> list[R]:
    return _sorted(list(records), lambda record: (record.time_s, *record.key), limit)


def _sorted(
    records: Sequence[R], order: Callable[[R], tuple[Any, ...]], limit: int | None
) -> list[R]:
    ordered = sorted(records, key=order, reverse=True)
    return ordered if limit is None else ordered[: checked_limit(limit)]
