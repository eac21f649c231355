"""What waits for the disk: bounded, and the least valuable goes first."""

from __future__ import annotations

from enum import IntEnum
from itertools import islice
from typing import Final

from hmas.storage.records import (
    DirectiveRecord,
    Key,
    OverrideRecord,
    PromptVersionRecord,
    Record,
    RequestRecord,
    ResumeRecord,
    TrainingRecord,
    ViewRecord,
)


class Value(IntEnum):
    """How much it hurts to lose a record."""

    SAMPLE = 0
    HISTORY = 1
    ESSENTIAL = 2


_VALUES: Final[dict[type[Record], Value]] = {
    ViewRecord: Value.SAMPLE,
    RequestRecord: Value.SAMPLE,
    TrainingRecord: Value.SAMPLE,
    DirectiveRecord: Value.ESSENTIAL,
    OverrideRecord: Value.ESSENTIAL,
    PromptVersionRecord: Value.ESSENTIAL,
    ResumeRecord: Value.ESSENTIAL,
}


def value_of(record: Record) -> Value:
    """Views and request samples are worth least; what a restart needs is worth most."""
    return _VALUES.get(type(record), Value.HISTORY)


class RecordBuffer:
    """At most ``capacity`` records; a record with the key of a waiting one takes its place.

    Not safe for threads: its owner holds the lock.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self.capacity = capacity
        self._waiting: dict[Value, dict[tuple[str, Key], Record]] = {value: {} for value in Value}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def put(self, record: Record) -> Record | None:
        """Takes it in; returns the record that had to go for it, maybe ``record`` itself."""
        value = value_of(record)
        waiting = self._waiting[value]
        key = (record.record_kind, record.key)
        dropped = None
        if key not in waiting and len(self) >= self.capacity:
            dropped = self._dropped_for(value)
            if dropped is None:
                return record
        waiting[key] = record
        return dropped

    def _dropped_for(self, value: Value) -> Record | None:
        """The oldest of the least valuable, unless all are worth more than ``value``."""
        for candidate in Value:
            waiting = self._waiting[candidate]
            if waiting and candidate <= value:
                return waiting.pop(next(iter(waiting)))
        return None

    def take(self, limit: int) -> list[Record]:
        """At most ``limit`` records, the most valuable first, oldest first among equals."""
        taken: list[Record] = []
        for value in reversed(Value):
            waiting = self._waiting[value]
            oldest = list(islice(waiting, limit - len(taken)))
            taken.extend(waiting.pop(key) for key in oldest)
        return taken
