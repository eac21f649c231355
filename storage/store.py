"""What durable state offers: narrow protocols, one contract for memory, SQLite, PostgreSQL.

Lists come newest first unless said otherwise. ``engine_id=None`` means every engine; limits
are 1 to ``MAX_LIMIT``. Every method may raise :class:`StoreUnavailableError`. All of them
block on I/O and may be called from any thread: from an event loop use ``asyncio.to_thread``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hmas.storage.records import (
    AuditRecord,
    CalibrationRecord,
    DecisionRecord,
    DecisionRole,
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

DEFAULT_LIMIT = 100
MAX_LIMIT = 10_000


def checked_limit(limit: int) -> int:
    """``limit`` itself. Raises ValueError when it is out of range."""
    if not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"limit must be 1 to {MAX_LIMIT}, not {limit}")
    return limit


class Cursor(msgspec.Struct, frozen=True):
    """A place in a list that is sorted by time and id; continue with what is older."""

    at_s: float
    id: str

    def __str__(self) -> str:
        return f"{self.at_s!r}~{self.id}"

    @classmethod
    def of(cls, record: DecisionRecord | AuditRecord | TrainingRecord) -> Cursor:
        return cls(record.at_s, record.id)

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The inverse of ``str(cursor)``. Raises ValueError for anything else."""
        at_s, separator, record_id = text.partition("~")
        try:
            if separator:
                return cls(float(at_s), record_id)
        except ValueError:
            pass
        raise ValueError(f"cursor {text!r} is not one of ours: pass on the one you were given")


class DecisionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions; None: any."""

    engine_id: str | None = None
    role: DecisionRole | None = None
    controller: str | None = None
    outcome: str | None = None


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which audit rows; None: any."""

    engine_id: str | None = None
    actor: str | None = None
    action: str | None = None
    target: str | None = None


class RecordSink(Protocol):
    """Where records go: all that the writer needs."""

    def append(self, records: Sequence[Record]) -> None:
        """Keeps all of them, or none, in one transaction; equal keys: the last one wins.

        Raises:
            RecordRefusedError: one of them can never be stored.
        """
        ...


class ViewReader(Protocol):
    def views(
        self,
        engine_id: str,
        horizon: Horizon,
        *,
        since_s: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[ViewRecord]:
        """Views at or after ``since_s``."""
        ...

    def view(self, engine_id: str, horizon: Horizon, at_s: float) -> ViewRecord | None:
        """The view of exactly that time."""
        ...


class DecisionReader(Protocol):
    def decisions(
        self,
        where: DecisionFilter = ...,
        *,
        before: Cursor | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[DecisionRecord]: ...

    def decision(self, decision_id: str) -> DecisionRecord | None: ...


class DirectiveReader(Protocol):
    def latest_directive(self, engine_id: str) -> DirectiveRecord | None: ...

    def directives(
        self, engine_id: str, *, before_version: int | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[DirectiveRecord]:
        """By version, highest first; only those below ``before_version``."""
        ...

    def last_version(self, engine_id: str) -> int:
        """Highest version ever kept for this engine, 0 when there is none."""
        ...

    def caused_versions(self, causes: Sequence[str]) -> dict[str, int]:
        """Version of the first directive of each of these causes; those without are left out."""
        ...


class OverrideReader(Protocol):
    def active_overrides(
        self, now_s: float, *, engine_id: str | None = None
    ) -> list[OverrideRecord]:
        """Neither revoked nor expired; for one engine this includes those for all engines."""
        ...

    def overrides(
        self, *, engine_id: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[OverrideRecord]:
        """The whole history; for one engine this includes those for all engines."""
        ...

    def override(self, override_id: str) -> OverrideRecord | None: ...


class GuardReader(Protocol):
    def guard_events(
        self,
        *,
        engine_id: str | None = None,
        since_s: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[GuardEventRecord]: ...


class ResumeReader(Protocol):
    def calibration(self, engine_id: str) -> list[CalibrationRecord]:
        """All buckets, by bucket."""
        ...

    def resume(self, engine_id: str) -> ResumeRecord | None: ...


class RequestReader(Protocol):
    def request(self, request_id: str) -> RequestRecord | None:
        """The latest record of this request, whichever engine served it."""
        ...

    def requests(
        self,
        *,
        engine_id: str | None = None,
        tenant: str | None = None,
        since_s: float | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[RequestRecord]:
        """By the time they finished."""
        ...


class TrainingReader(Protocol):
    def training(
        self, *, before: Cursor | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[TrainingRecord]:
        """What there is to learn from, all tenants."""
        ...


class PromptReader(Protocol):
    def prompt_versions(self, name: str) -> list[PromptVersionRecord]:
        """All versions of one prompt, highest first."""
        ...

    def active_prompt(self, name: str) -> PromptVersionRecord | None:
        """The highest version that is marked active."""
        ...


class AuditReader(Protocol):
    def audit(
        self,
        where: AuditFilter = ...,
        *,
        before: Cursor | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> list[AuditRecord]: ...


class Expiry(ViewReader, Protocol):
    """What retention needs (see :mod:`hmas.storage.retention`)."""

    def expire(self, record_type: type[Record], before_s: float, limit: int) -> int:
        """Deletes at most ``limit`` records older than ``before_s``, returns how many.

        The highest directive version of every engine and overrides that may still be active
        at ``before_s`` stay, whatever their age.
        """
        ...

    def expire_beyond(self, record_type: type[Record], keep: int, limit: int) -> int:
        """Deletes the oldest of those beyond the ``keep`` newest, at most ``limit``."""
        ...

    def expire_views(self, horizon: Horizon, before_s: float, limit: int) -> int:
        """As :meth:`expire`, for the views of one horizon."""
        ...

    def oldest_views(self, horizon: Horizon, before_s: float, limit: int) -> list[ViewRecord]:
        """Views before ``before_s``, oldest first, all engines."""
        ...

    def replace_views(self, removed: Sequence[ViewRecord], added: Sequence[ViewRecord]) -> None:
        """In one transaction."""
        ...


class Store(
    RecordSink,
    DecisionReader,
    DirectiveReader,
    OverrideReader,
    GuardReader,
    ResumeReader,
    RequestReader,
    TrainingReader,
    PromptReader,
    AuditReader,
    Expiry,
    Protocol,
):
    """Everything; take a narrower protocol where one is enough."""

    def close(self) -> None:
        """Gives connections back; idempotent."""
        ...
