"""What is old is summed up or deleted, in small batches, so that nobody waits for long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import msgspec

from hmas.storage.records import (
    AuditRecord,
    DecisionRecord,
    DirectiveRecord,
    GuardEventRecord,
    Horizon,
    OverrideRecord,
    Record,
    RequestRecord,
    TrainingRecord,
    ViewRecord,
)
from hmas.storage.rollup import merged, minute_of, rolled_up
from hmas.storage.store import Expiry

_HOUR_S: Final = 3600.0
_DAY_S: Final = 24 * _HOUR_S
Age = Annotated[float, msgspec.Meta(gt=0)]


class RetentionAges(msgspec.Struct, frozen=True, kw_only=True):
    """How long things are kept: ``_h`` in hours, ``_d`` in days.

    Short views older than ``short_views_h`` become one row per minute, which is kept for
    ``minute_views_d``. Overrides count from their end; the newest directive always stays.
    Calibration, resume state and prompt versions are never deleted. Of the requests to learn
    from, at most ``training_rows`` stay, the newest.
    """

    short_views_h: Age = 24.0
    minute_views_d: Age = 30.0
    long_views_d: Age = 30.0
    requests_d: Age = 14.0
    decisions_d: Age = 90.0
    directives_d: Age = 30.0
    guard_events_d: Age = 90.0
    overrides_d: Age = 365.0
    audit_d: Age = 365.0
    training_d: Age = 90.0
    training_rows: Annotated[int, msgspec.Meta(ge=0)] = 200_000


class RetentionReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one run did; ``deleted`` by kind, without kinds where nothing was old enough."""

    sentence: str
    rolled_up: int
    minutes: int
    deleted: dict[str, int]


def apply_retention(
    store: Expiry, ages: RetentionAges, now_s: float, *, batch_size: int = 1000
) -> RetentionReport:
    """Rolls up and deletes; every batch is a transaction, so a run may stop at any point.

    Raises:
        StoreUnavailableError: the next run goes on where this one stopped.
    """
    views, minutes = _roll_up(store, now_s - ages.short_views_h * _HOUR_S, batch_size)
    deleted = {
        name: count
        for name, delete in _deletions(store, ages, now_s, batch_size)
        if (count := _repeated(delete, batch_size))
    }
    return RetentionReport(
        sentence=_sentence(views, minutes, deleted),
        rolled_up=views,
        minutes=minutes,
        deleted=deleted,
    )


def _roll_up(store: Expiry, before_s: float, batch_size: int) -> tuple[int, int]:
    """Whole minutes only, so that a minute is seldom summed up in two parts."""
    views = 0
    minutes: set[tuple[str, float]] = set()
    while batch := store.oldest_views(Horizon.SHORT, minute_of(before_s), batch_size):
        rows = [_with_known(store, row) for row in rolled_up(batch)]
        store.replace_views(batch, rows)
        views += len(batch)
        minutes.update((row.engine_id, row.at_s) for row in rows)
    return views, len(minutes)


def _with_known(store: Expiry, row: ViewRecord) -> ViewRecord:
    known = store.view(row.engine_id, row.horizon, row.at_s)
    return row if known is None else merged(known, row)


def _deletions(
    store: Expiry, ages: RetentionAges, now_s: float, limit: int
) -> list[tuple[str, Callable[[], int]]]:
    horizons = ((Horizon.SHORT_MINUTE, ages.minute_views_d), (Horizon.LONG, ages.long_views_d))
    kinds: tuple[tuple[type[Record], float], ...] = (
        (RequestRecord, ages.requests_d),
        (DecisionRecord, ages.decisions_d),
        (DirectiveRecord, ages.directives_d),
        (GuardEventRecord, ages.guard_events_d),
        (OverrideRecord, ages.overrides_d),
        (AuditRecord, ages.audit_d),
        (TrainingRecord, ages.training_d),
    )

    def of_horizon(horizon: Horizon, age_d: float) -> Callable[[], int]:
        return lambda: store.expire_views(horizon, now_s - age_d * _DAY_S, limit)

    def of_kind(kind: type[Record], age_d: float) -> Callable[[], int]:
        return lambda: store.expire(kind, now_s - age_d * _DAY_S, limit)

    def surplus() -> int:
        return store.expire_beyond(TrainingRecord, ages.training_rows, limit)

    views = [(f"view_{name.value}", of_horizon(name, age_d)) for name, age_d in horizons]
    by_age = [(kind.record_kind, of_kind(kind, age_d)) for kind, age_d in kinds]
    return [*views, *by_age, ("surplus training", surplus)]


def _repeated(delete: Callable[[], int], batch_size: int) -> int:
    total = count = delete()
    while count >= batch_size:
        count = delete()
        total += count
    return total


def _sentence(views: int, minutes: int, deleted: dict[str, int]) -> str:
    done = [f"rolled {views} short views up into {minutes} minutes"] if views else []
    if deleted:
        done.append("deleted " + ", ".join(f"{n} {name}" for name, n in deleted.items()))
    return "; ".join(done) or "nothing is old enough"
