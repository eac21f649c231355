"""Short views of one minute become one row: count, mean and maximum of every number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from hmas.storage.records import Horizon, Payload, ViewRecord

MINUTE_S = 60.0


def minute_of(at_s: float) -> float:
    """Start of the minute that holds ``at_s``."""
    return at_s // MINUTE_S * MINUTE_S


def rolled_up(views: Iterable[ViewRecord]) -> list[ViewRecord]:
    """One ``SHORT_MINUTE`` view per engine and minute.

    Its payload is ``{"count": views, "fields": {"a.b": {"count", "mean", "max"}}}`` with the
    path of every number in the views' payloads; texts, booleans and lists are left out.
    """
    ordered = sorted(views, key=_engine_and_minute)
    return [
        ViewRecord(
            engine_id=engine_id,
            horizon=Horizon.SHORT_MINUTE,
            at_s=minute_s,
            payload=_summary([view.payload for view in group]),
        )
        for (engine_id, minute_s), group in groupby(ordered, _engine_and_minute)
    ]


def merged(older: ViewRecord, newer: ViewRecord) -> ViewRecord:
    """Two roll-ups of the same minute as one: views may arrive late, or in two batches."""
    fields = dict(older.payload["fields"])
    for path, field in newer.payload["fields"].items():
        fields[path] = _merged_field(fields[path], field) if path in fields else field
    count = older.payload["count"] + newer.payload["count"]
    return ViewRecord(
        engine_id=older.engine_id,
        horizon=older.horizon,
        at_s=older.at_s,
        payload={"count": count, "fields": fields},
    )


def _engine_and_minute(view: ViewRecord) -> tuple[str, float]:
    return (view.engine_id, minute_of(view.at_s))


def _summary(payloads: list[Payload]) -> Payload:
    numbers: dict[str, list[float]] = {}
    for payload in payloads:
        for path, number in _numbers(payload, ""):
            numbers.setdefault(path, []).append(number)
    fields = {path: _field(values) for path, values in numbers.items()}
    return {"count": len(payloads), "fields": fields}


def _field(values: list[float]) -> dict[str, float]:
    # Divided first: the sum of large numbers could leave the range of a float.
    mean = sum(value / len(values) for value in values)
    return {"count": len(values), "mean": mean, "max": max(values)}


def _numbers(value: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _numbers(item, f"{path}.{name}" if path else name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, float(value)


def _merged_field(older: dict[str, float], newer: dict[str, float]) -> dict[str, float]:
    count = older["count"] + newer["count"]
    shares = older["count"] / count, newer["count"] / count
    mean = older["mean"] * shares[0] + newer["mean"] * shares[1]
    return {"count": count, "mean": mean, "max": max(older["max"], newer["max"])}
