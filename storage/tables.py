"""The tables, one per kind of record, with the records' own field names.

A change here needs a migration in ``storage/migrations/versions``; a test compares the two.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from sqlalchemy import BigInteger, Dialect, Double, Index, MetaData, Table, Text, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from hmas.storage import records

# Byte order everywhere: the same lists on SQLite and on any PostgreSQL locale.
SORTED_TEXT = Text().with_variant(Text(collation="C"), "postgresql")


class JsonText(TypeDecorator[Any]):
    """JSON kept as text: the same bytes come back from every database."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else msgspec.json.decode(value)


class Row(DeclarativeBase):
    """Base of all tables; names of constraints are fixed so that migrations can name them."""

    metadata = MetaData(
        naming_convention={"pk": "pk_%(table_name)s", "ix": "ix_%(table_name)s_%(column_0_N_name)s"}
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: SORTED_TEXT,
        int: BigInteger,
        float: Double,
        records.Payload: JsonText,
        list[float]: JsonText,
    }


class ViewRow(Row):
    __tablename__ = "views"
    __table_args__ = (Index(None, "horizon", "at_s"),)

    engine_id: Mapped[str] = mapped_column(primary_key=True)
    horizon: Mapped[str] = mapped_column(primary_key=True)
    at_s: Mapped[float] = mapped_column(primary_key=True)
    payload: Mapped[records.Payload]


class DecisionRow(Row):
    __tablename__ = "decisions"
    __table_args__ = (Index(None, "at_s", "id"), Index(None, "engine_id", "at_s", "id"))

    id: Mapped[str] = mapped_column(primary_key=True)
    engine_id: Mapped[str]
    at_s: Mapped[float]
    controller: Mapped[str]
    role: Mapped[str]
    outcome: Mapped[str]
    topology: Mapped[str | None]
    hints: Mapped[records.Payload]
    bypass: Mapped[bool]
    reason: Mapped[str]
    inputs: Mapped[records.Payload]
    refusal_kind: Mapped[str | None]
    refusal_detail: Mapped[str]
    effect: Mapped[records.Payload | None] = mapped_column(JsonText)


class DirectiveRow(Row):
    __tablename__ = "directives"
    __table_args__ = (Index(None, "issued_at_s"), Index(None, "cause"))

    engine_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    issued_at_s: Mapped[float]
    payload: Mapped[records.Payload]
    owner: Mapped[str]
    cause: Mapped[str]
    sentence: Mapped[str]
    ack: Mapped[str]
    ack_reason: Mapped[str]
    acked_at_s: Mapped[float | None]
    step: Mapped[int | None]


class OverrideRow(Row):
    __tablename__ = "overrides"
    __table_args__ = (Index(None, "engine_id", "created_at_s"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    engine_id: Mapped[str]
    kind: Mapped[str]
    payload: Mapped[records.Payload]
    reason: Mapped[str]
    owner: Mapped[str]
    created_at_s: Mapped[float]
    expires_at_s: Mapped[float | None]
    revoked_at_s: Mapped[float | None]
    revoked_by: Mapped[str | None]


class GuardEventRow(Row):
    __tablename__ = "guard_events"
    __table_args__ = (Index(None, "at_s"),)

    engine_id: Mapped[str] = mapped_column(primary_key=True)
    at_s: Mapped[float] = mapped_column(primary_key=True)
    guard: Mapped[str] = mapped_column(primary_key=True)
    verdict: Mapped[str] = mapped_column(primary_key=True)
    topology_from: Mapped[str | None]
    topology_to: Mapped[str | None]
    detail: Mapped[records.Payload]


class CalibrationRow(Row):
    __tablename__ = "calibration"

    engine_id: Mapped[str] = mapped_column(primary_key=True)
    bucket: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    errors: Mapped[list[float]]
    updated_at_s: Mapped[float]


class RequestRow(Row):
    __tablename__ = "requests"
    __table_args__ = (
        Index(None, "finished_at_s"),
        Index(None, "engine_id", "finished_at_s"),
        Index(None, "tenant", "finished_at_s"),
    )

    request_id: Mapped[str] = mapped_column(primary_key=True)
    engine_id: Mapped[str] = mapped_column(primary_key=True)
    tenant: Mapped[str]
    task_type: Mapped[str]
    arrival_s: Mapped[float]
    finished_at_s: Mapped[float]
    prompt_tokens: Mapped[int]
    predicted_output_tokens: Mapped[int]
    output_tokens: Mapped[int]
    ttft_s: Mapped[float]
    tpot_s: Mapped[float]
    queue_s: Mapped[float]
    preemptions: Mapped[int]
    outcome: Mapped[str]
    ttft_ok: Mapped[bool]
    tpot_ok: Mapped[bool]
    features: Mapped[records.Payload]


class TrainingRow(Row):
    __tablename__ = "training"
    __table_args__ = (Index(None, "at_s", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    engine_id: Mapped[str]
    at_s: Mapped[float]
    tenant: Mapped[str]
    task_type: Mapped[str]
    model: Mapped[str]
    prompt_tokens: Mapped[int]
    predicted_output_tokens: Mapped[int]
    output_tokens: Mapped[int]
    ttft_s: Mapped[float]
    tpot_s: Mapped[float]
    payload: Mapped[records.Payload]


class PromptVersionRow(Row):
    __tablename__ = "prompt_versions"

    name: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    engine_id: Mapped[str]
    sha256: Mapped[str]
    text: Mapped[str]
    created_at_s: Mapped[float]
    author: Mapped[str]
    reason: Mapped[str]
    active: Mapped[bool]


class AuditRow(Row):
    __tablename__ = "audit"
    __table_args__ = (Index(None, "at_s", "id"), Index(None, "engine_id", "at_s", "id"))

    id: Mapped[str] = mapped_column(primary_key=True)
    engine_id: Mapped[str]
    at_s: Mapped[float]
    actor: Mapped[str]
    action: Mapped[str]
    target: Mapped[str]
    inputs: Mapped[records.Payload]
    result: Mapped[str]


class ResumeRow(Row):
    __tablename__ = "resume"

    engine_id: Mapped[str] = mapped_column(primary_key=True)
    payload: Mapped[records.Payload]
    updated_at_s: Mapped[float]


ROWS: dict[type[records.Record], type[Row]] = {
    records.ViewRecord: ViewRow,
    records.DecisionRecord: DecisionRow,
    records.DirectiveRecord: DirectiveRow,
    records.OverrideRecord: OverrideRow,
    records.GuardEventRecord: GuardEventRow,
    records.CalibrationRecord: CalibrationRow,
    records.RequestRecord: RequestRow,
    records.PromptVersionRecord: PromptVersionRow,
    records.AuditRecord: AuditRow,
    records.ResumeRecord: ResumeRow,
    records.TrainingRecord: TrainingRow,
}


def table_of(record_type: type[records.Record]) -> Table:
    """The table that holds this kind of record."""
    return Row.metadata.tables[ROWS[record_type].__tablename__]
