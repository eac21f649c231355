"""The store on a database: typed tables, one statement per question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, TypeVar

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    delete,
    func,
    or_,
    select,
    tuple_,
)
from sqlalchemy.dialects import postgresql, sqlite

from hmas.storage.canonical import canonical, cleaned_text
from hmas.storage.database import DEFAULT_BUSY_TIMEOUT_S, Database
from hmas.storage.errors import StoreUnavailableError
from hmas.storage.records import (
    ALL_ENGINES,
    RECORD_TYPES,
    AuditRecord,
    CalibrationRecord,
    DecisionRecord,
    DirectiveRecord,
    GuardEventRecord,
    Horizon,
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
from hmas.storage.tables import DirectiveRow, OverrideRow, table_of

R = TypeVar("R", bound=Record)
Condition = ColumnElement[bool]


class SqlStore:
    """Implements :class:`hmas.storage.store.Store` on SQLite or PostgreSQL.

    The tables must be there (:func:`hmas.storage.schema.upgrade`).
    """

    def __init__(self, url: str, *, busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S) -> None:
        self.database = Database(url, busy_timeout_s=busy_timeout_s)
        insert = sqlite.insert if self.database.is_sqlite else postgresql.insert
        self._upserts = {kind: _upsert(insert, kind) for kind in RECORD_TYPES}

    def append(self, records: Sequence[Record]) -> None:
        checked = [canonical(record) for record in records]
        with self.database.write() as connection:
            self._append(connection, checked)

    def _append(self, connection: Connection, records: Sequence[Record]) -> None:
        """In a fixed order, so that two writers never wait for each other in a circle."""
        latest = {(RECORD_TYPES.index(type(r)), *r.key): r for r in records}
        ordered = [latest[key] for key in sorted(latest)]
        for record_type, group in groupby(ordered, type):
            rows = [msgspec.to_builtins(record) for record in group]
            connection.execute(self._upserts[record_type], rows)

    def close(self) -> None:
        self.database.dispose()

    def views(
        self,
        engine_id: str,
        horizon: Horizon,
        *,
        since_s: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[ViewRecord]:
        where = _equal(ViewRecord, engine_id=engine_id, horizon=horizon.value)
        return self._newest(ViewRecord, [*where, *_since(ViewRecord, since_s)], limit)

    def view(self, engine_id: str, horizon: Horizon, at_s: float) -> ViewRecord | None:
        where = _equal(ViewRecord, engine_id=engine_id, horizon=horizon.value)
        return self._first(ViewRecord, [*where, table_of(ViewRecord).c.at_s == at_s])

    def decisions(
        self,
        where: DecisionFilter = DecisionFilter(),  # noqa: B008 - frozen
        *,
        before: Cursor | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[DecisionRecord]:
        found = _equal(DecisionRecord, **msgspec.to_builtins(where))
        return self._newest(DecisionRecord, [*found, *_before(DecisionRecord, before)], limit)

    def decision(self, decision_id: str) -> DecisionRecord | None:
        return self._first(DecisionRecord, _equal(DecisionRecord, id=decision_id))

    def latest_directive(self, engine_id: str) -> DirectiveRecord | None:
        return next(iter(self.directives(engine_id, limit=1)), None)

    def directives(
        self, engine_id: str, *, before_version: int | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[DirectiveRecord]:
        where = _equal(DirectiveRecord, engine_id=engine_id)
        if before_version is not None:
            where.append(DirectiveRow.version < before_version)
        return self._fetch(DirectiveRecord, where, [DirectiveRow.version.desc()], limit)

    def last_version(self, engine_id: str) -> int:
        where = _equal(DirectiveRecord, engine_id=engine_id)
        with self.database.read() as connection:
            newest = connection.scalar(select(func.max(DirectiveRow.version)).where(*where))
        return int(newest or 0)

    def caused_versions(self, causes: Sequence[str]) -> dict[str, int]:
        first = (
            select(DirectiveRow.cause, func.min(DirectiveRow.version))
            .where(DirectiveRow.cause.in_(causes))
            .group_by(DirectiveRow.cause)
        )
        with self.database.read() as connection:
            return {cause: int(version) for cause, version in connection.execute(first)}

    def active_overrides(
        self, now_s: float, *, engine_id: str | None = None
    ) -> list[OverrideRecord]:
        lasting = or_(OverrideRow.expires_at_s.is_(None), OverrideRow.expires_at_s > now_s)
        where = [*_concerning(engine_id), OverrideRow.revoked_at_s.is_(None), lasting]
        return self._newest(OverrideRecord, where, None)

    def overrides(
        self, *, engine_id: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[OverrideRecord]:
        return self._newest(OverrideRecord, _concerning(engine_id), limit)

    def override(self, override_id: str) -> OverrideRecord | None:
        return self._first(OverrideRecord, _equal(OverrideRecord, id=override_id))

    def guard_events(
        self,
        *,
        engine_id: str | None = None,
        since_s: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[GuardEventRecord]:
        where = _equal(GuardEventRecord, engine_id=engine_id)
        return self._newest(GuardEventRecord, [*where, *_since(GuardEventRecord, since_s)], limit)

    def calibration(self, engine_id: str) -> list[CalibrationRecord]:
        where = _equal(CalibrationRecord, engine_id=engine_id)
        order = table_of(CalibrationRecord).c.bucket
        return self._fetch(CalibrationRecord, where, [order], None)

    def resume(self, engine_id: str) -> ResumeRecord | None:
        return self._first(ResumeRecord, _equal(ResumeRecord, engine_id=engine_id))

    def request(self, request_id: str) -> RequestRecord | None:
        return self._first(RequestRecord, _equal(RequestRecord, request_id=request_id))

    def requests(
        self,
        *,
        engine_id: str | None = None,
        tenant: str | None = None,
        since_s: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[RequestRecord]:
        where = _equal(RequestRecord, engine_id=engine_id, tenant=tenant)
        return self._newest(RequestRecord, [*where, *_since(RequestRecord, since_s)], limit)

    def training(
        self, *, before: Cursor | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[TrainingRecord]:
        return self._newest(TrainingRecord, _before(TrainingRecord, before), limit)

    def prompt_versions(self, name: str) -> list[PromptVersionRecord]:
        where = _equal(PromptVersionRecord, name=name)
        order = table_of(PromptVersionRecord).c.version.desc()
        return self._fetch(PromptVersionRecord, where, [order], None)

    def active_prompt(self, name: str) -> PromptVersionRecord | None:
        return next((r for r in self.prompt_versions(name) if r.active), None)

    def audit(
        self,
        where: AuditFilter = AuditFilter(),  # noqa: B008 - frozen
        *,
        before: Cursor | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[AuditRecord]:
        found = _equal(AuditRecord, **msgspec.to_builtins(where))
        return self._newest(AuditRecord, [*found, *_before(AuditRecord, before)], limit)

    def expire(self, record_type: type[Record], before_s: float, limit: int) -> int:
        return self._delete(record_type, [_expired(record_type, before_s)], limit)

    def expire_beyond(self, record_type: type[Record], keep: int, limit: int) -> int:
        with self.database.read() as connection:
            count = connection.scalar(select(func.count()).select_from(table_of(record_type)))
        surplus = min(int(count or 0) - keep, checked_limit(limit))
        return self._delete(record_type, [], surplus) if surplus > 0 else 0

    def expire_views(self, horizon: Horizon, before_s: float, limit: int) -> int:
        return self._delete(ViewRecord, _older_views(horizon, before_s), limit)

    def oldest_views(self, horizon: Horizon, before_s: float, limit: int) -> list[ViewRecord]:
        table = table_of(ViewRecord)
        order = [table.c.at_s, table.c.engine_id]
        return self._fetch(ViewRecord, _older_views(horizon, before_s), order, limit)

    def replace_views(self, removed: Sequence[ViewRecord], added: Sequence[ViewRecord]) -> None:
        checked = [canonical(record) for record in added]
        keys = sorted((r.engine_id, r.horizon.value, r.at_s) for r in removed)
        with self.database.write() as connection:
            for start in range(0, len(keys), 500):
                chosen = _key_columns(ViewRecord).in_(keys[start : start + 500])
                connection.execute(delete(table_of(ViewRecord)).where(chosen))
            self._append(connection, checked)

    def _newest(
        self, record_type: type[R], where: Sequence[Condition], limit: int | None
    ) -> list[R]:
        columns = table_of(record_type).c
        order = [columns[name].desc() for name in (record_type.time_field, *record_type.key_fields)]
        return self._fetch(record_type, where, order, limit)

    def _first(self, record_type: type[R], where: Sequence[Condition]) -> R | None:
        return next(iter(self._newest(record_type, where, 1)), None)

    def _fetch(
        self,
        record_type: type[R],
        where: Sequence[Condition],
        order: Sequence[ColumnElement[Any]],
        limit: int | None,
    ) -> list[R]:
        statement: Select[Any] = select(*table_of(record_type).c).where(*where).order_by(*order)
        if limit is not None:
            statement = statement.limit(checked_limit(limit))
        with self.database.read() as connection:
            rows = connection.execute(statement).mappings().all()
        try:
            return [msgspec.convert(dict(row), record_type) for row in rows]
        except msgspec.ValidationError as error:
            detail = f"a {record_type.record_kind} was changed by other software: {error}"
            raise StoreUnavailableError(self.database.shown_url, detail) from error

    def _delete(self, record_type: type[Record], where: Sequence[Condition], limit: int) -> int:
        table = table_of(record_type)
        keys = [table.c[name] for name in record_type.key_fields]
        oldest = select(*keys).where(*where).order_by(table.c[record_type.time_field])
        chosen = _key_columns(record_type).in_(oldest.limit(checked_limit(limit)))
        with self.database.write() as connection:
            return int(connection.execute(delete(table).where(chosen)).rowcount)


def _upsert(insert: Any, record_type: type[Record]) -> Any:
    table = table_of(record_type)
    statement = insert(table)
    changed = {
        name: statement.excluded[name]
        for name in table.c.keys()  # noqa: SIM118 - columns, not a dict
        if name not in record_type.key_fields
    }
    return statement.on_conflict_do_update(
        index_elements=list(record_type.key_fields), set_=changed
    )


def _equal(record_type: type[Record], **wanted: str | None) -> list[Condition]:
    columns = table_of(record_type).c
    given = {name: cleaned_text(text) for name, text in wanted.items() if text is not None}
    return [columns[name] == text for name, text in given.items()]


def _since(record_type: type[Record], since_s: float | None) -> list[Condition]:
    column = table_of(record_type).c[record_type.time_field]
    return [] if since_s is None else [column >= since_s]


def _before(record_type: type[Record], cursor: Cursor | None) -> list[Condition]:
    if cursor is None:
        return []
    columns = table_of(record_type).c
    same_time = and_(columns.at_s == cursor.at_s, columns.id < cleaned_text(cursor.id))
    return [or_(columns.at_s < cursor.at_s, same_time)]


def _concerning(engine_id: str | None) -> list[Condition]:
    if engine_id is None:
        return []
    return [OverrideRow.engine_id.in_((ALL_ENGINES, cleaned_text(engine_id)))]


def _older_views(horizon: Horizon, before_s: float) -> list[Condition]:
    column = table_of(ViewRecord).c.at_s
    return [*_equal(ViewRecord, horizon=horizon.value), column < before_s]


def _expired(record_type: type[Record], before_s: float) -> Condition:
    if record_type is OverrideRecord:
        return or_(OverrideRow.revoked_at_s < before_s, OverrideRow.expires_at_s < before_s)
    column: ColumnElement[float] = table_of(record_type).c[record_type.time_field]
    if record_type is not DirectiveRecord:
        return column < before_s
    other: Table = table_of(DirectiveRecord).alias()  # type: ignore[assignment]
    same_engine = other.c.engine_id == DirectiveRow.engine_id
    newest = select(func.max(other.c.version)).where(same_engine).scalar_subquery()
    return and_(column < before_s, DirectiveRow.version < newest)


def _key_columns(record_type: type[Record]) -> Any:
    columns = table_of(record_type).c
    return tuple_(*(columns[name] for name in record_type.key_fields))
