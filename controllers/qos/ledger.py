"""The requests in flight, and the moment the fate of each becomes known.

Engine and gateway may both report a request; whoever comes first counts, repeats are ignored.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Final, Protocol

from hmas.controllers.service_gain import token_value
from hmas.engine.events import (
    Outcome,
    RequestArrived,
    RequestFinished,
    RequestFirstToken,
    RequestShed,
)
from hmas.engine.features import RequestFeatures

MAX_IN_FLIGHT: Final = 100_000
REMEMBERED: Final = 20_000
GRACE_S: Final = 0.25
"""A first token may be this late on the wire before its deadline counts as missed."""

LONG_FACTOR: Final = 4.0
"""A request is long when its predicted work exceeds this many times the median."""

BLOCKING_SHARE: Final = 0.5
"""Long requests block when more than this share of the work waiting ahead is theirs."""


class Entry:
    """One request in flight."""

    __slots__ = ("blocked", "features", "long", "started", "ttft_missed", "work")

    def __init__(self, features: RequestFeatures) -> None:
        self.features = features
        self.work = token_value(features.prompt_tokens, features.predicted_output_tokens)
        self.long = False
        self.blocked = False
        self.started = False
        self.ttft_missed = False


class Facts(Protocol):
    """What the ledger tells, each fact once per request."""

    def arrived(self, at_s: float, entry: Entry) -> None: ...

    def ttft_missed(self, at_s: float, entry: Entry) -> None:
        """The first token is overdue, or came too late."""
        ...

    def first_token(self, at_s: float, entry: Entry | None, ttft_ms: float) -> None: ...

    def finished(self, entry: Entry, event: RequestFinished) -> None: ...

    def shed(self, at_s: float, entry: Entry) -> None: ...


class Ledger:
    """Turns request events into facts; O(log n) per event."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._open: dict[str, Entry] = {}
        self._closed: dict[str, None] = {}
        self._deadlines: list[tuple[float, str]] = []
        self._work: deque[float] = deque(maxlen=512)
        self._long_from: float | None = None
        self._until_median = 0
        self._waiting_work = 0.0
        self._long_waiting_work = 0.0

    @property
    def in_flight(self) -> int:
        return len(self._open)

    def waiting_work(self) -> dict[str, float]:
        """Predicted work per tenant that has not started."""
        work: dict[str, float] = {}
        for entry in self._open.values():
            if not entry.started:
                tenant = entry.features.tenant
                work[tenant] = work.get(tenant, 0.0) + entry.work
        return work

    def arrive(self, event: RequestArrived) -> None:
        request_id = event.features.request_id
        if request_id in self._open or request_id in self._closed:
            return
        if len(self._open) >= MAX_IN_FLIGHT:
            self._forget(next(iter(self._open)))
        entry = self._open[request_id] = Entry(event.features)
        self._classify(entry)
        deadline = event.features.first_token_deadline_s + GRACE_S
        heapq.heappush(self._deadlines, (deadline, request_id))
        self._facts.arrived(event.at_s, entry)

    def start(self, event: RequestFirstToken) -> None:
        entry = self._open.get(event.request_id)
        if event.request_id in self._closed or (entry is not None and entry.started):
            return
        if entry is not None:
            self._leave_queue(entry)
        ttft_ms = event.ttft_s * 1000.0
        self._facts.first_token(event.at_s, entry, ttft_ms)
        if entry is not None and ttft_ms > entry.features.slo_ttft_ms:
            self._miss(event.at_s, entry)

    def finish(self, event: RequestFinished) -> None:
        entry = self._close(event.features)
        if entry is None:
            return
        completed = event.outcome is Outcome.COMPLETED
        if completed and not entry.started:
            self._facts.first_token(event.at_s, entry, event.ttft_s * 1000.0)
        if completed and not event.ttft_ok:
            self._miss(event.at_s, entry)
        self._leave_queue(entry)
        self._facts.finished(entry, event)

    def shed(self, event: RequestShed) -> None:
        entry = self._close(event.features)
        if entry is not None:
            self._leave_queue(entry)
            self._facts.shed(event.at_s, entry)

    def expire(self, now_s: float) -> None:
        """Report first tokens that are overdue by now."""
        while self._deadlines and self._deadlines[0][0] < now_s:
            _, request_id = heapq.heappop(self._deadlines)
            entry = self._open.get(request_id)
            if entry is not None and not entry.started:
                self._miss(now_s, entry)

    def forget_before(self, at_s: float) -> None:
        """Drop requests that arrived earlier: their end was lost on the way."""
        while self._open:
            request_id, entry = next(iter(self._open.items()))
            if entry.features.arrival_s >= at_s:
                return
            self._forget(request_id)

    def clear(self) -> None:
        """The engine restarted: whatever was in flight is gone."""
        self._open.clear()
        self._deadlines.clear()
        self._waiting_work = 0.0
        self._long_waiting_work = 0.0

    def _miss(self, at_s: float, entry: Entry) -> None:
        if not entry.ttft_missed:
            entry.ttft_missed = True
            self._facts.ttft_missed(at_s, entry)

    def _close(self, features: RequestFeatures) -> Entry | None:
        """The entry of a request that ends now; None when it ended before."""
        request_id = features.request_id
        if request_id in self._closed:
            return None
        if len(self._closed) >= REMEMBERED:
            del self._closed[next(iter(self._closed))]
        self._closed[request_id] = None
        return self._open.pop(request_id, None) or Entry(features)

    def _forget(self, request_id: str) -> None:
        self._leave_queue(self._open.pop(request_id))

    def _leave_queue(self, entry: Entry) -> None:
        if not entry.started:
            entry.started = True
            self._waiting_work -= entry.work
            self._long_waiting_work -= entry.work * entry.long

    def _classify(self, entry: Entry) -> None:
        """Long or short, and whether long ones block it; the median follows the mix."""
        if self._long_from is not None:
            entry.long = entry.work > self._long_from
            mostly_long = self._long_waiting_work > BLOCKING_SHARE * self._waiting_work
            entry.blocked = not entry.long and mostly_long
        self._waiting_work += entry.work
        self._long_waiting_work += entry.work * entry.long
        self._work.append(entry.work)
        self._until_median -= 1
        if self._until_median <= 0 and len(self._work) >= 32:
            self._until_median = 64
            self._long_from = LONG_FACTOR * sorted(self._work)[len(self._work) // 2]
