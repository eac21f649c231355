"""Events on their way out: bounded, numbered, never in the way of the engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from hmas.engine.clock import Clock
from hmas.engine.events import Event, EventBatch

BATCH_EVENTS: Final = 512
CAPACITY_EVENTS: Final = 65_536


class Outbox:
    """Any thread puts events in; the link thread takes numbered batches out.

    When full, new events are dropped and counted, so what is sent stays in order.
    """

    __slots__ = (
        "_boot_id",
        "_capacity",
        "_clock",
        "_events",
        "_kind",
        "_sequence",
        "_source",
        "dropped",
    )

    def __init__(
        self,
        source: str,
        boot_id: str,
        clock: Clock,
        *,
        kind: str = "engine",
        capacity: int = CAPACITY_EVENTS,
    ) -> None:
        self._source = source
        self._boot_id = boot_id
        self._kind = kind
        self._clock = clock
        self._capacity = capacity
        self._events: deque[Event] = deque()
        self._sequence = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Event) -> None:
        if len(self._events) >= self._capacity:
            self.dropped += 1
        else:
            self._events.append(event)

    def batches(self) -> Iterator[EventBatch]:
        """What waits now, in batches of at most ``BATCH_EVENTS``."""
        remaining = len(self._events)
        while remaining > 0:
            size = min(remaining, BATCH_EVENTS)
            remaining -= size
            yield self._batch([self._events.popleft() for _ in range(size)])

    def _batch(self, events: list[Event]) -> EventBatch:
        self._sequence += 1
        return EventBatch(
            source=self._source,
            kind=self._kind,
            boot_id=self._boot_id,
            sequence=self._sequence,
            sent_at_s=self._clock.now_s(),
            events=events,
            dropped=self.dropped,
        )
