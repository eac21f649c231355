"""As many requests in time as possible: deadline order of the largest feasible set."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar, Final

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import HintSpec, Topology
from hmas.engine.topologies.cost import token_cost
from hmas.engine.topologies.queued import LazyDeque, LazyHeap, QueuedRequest

PLAN_EVERY_S: Final = 0.05
PLAN_S_PER_REQUEST: Final = 5e-5
"""A plan takes some 2 microseconds per request: this keeps planning below 4 % of the time."""

MEMORY_S: Final = 10.0
"""Backlogged seconds after which older ones count half."""

ENOUGH_S: Final = 0.5
"""Backlogged seconds before the measured rate is believed."""


class ServiceRate:
    """Work admitted per second while requests wait: what the engine can take in, as it is used."""

    def __init__(self) -> None:
        self._work = self._seconds = 0.0
        self._last_s: float | None = None

    def elapse(self, now_s: float, *, backlogged: bool) -> None:
        """Time passed; ``backlogged``: somebody waited all the while."""
        if backlogged and self._last_s is not None:
            self._seconds += max(0.0, now_s - self._last_s)
            if self._seconds > MEMORY_S:
                self._work, self._seconds = self._work / 2, self._seconds / 2
        self._last_s = now_s

    def served(self, work: float) -> None:
        self._work += work

    @property
    def per_s(self) -> float | None:
        """None while too little was seen."""
        return self._work / self._seconds if self._seconds >= ENOUGH_S and self._work else None


class Plan:
    """``kept`` can all start in time, first to serve last; ``aside`` cannot with them, least
    work last.

    The rule of Moore and Hodgson (J. M. Moore, Management Science 15(1), 1968): by due date,
    and where one would be late, set the largest so far aside. Due is the end of the own work
    after the latest start, so that no other set of these requests has more that start in time.
    O(n log n).
    """

    def __init__(
        self, requests: Sequence[QueuedRequest], now_s: float, per_s: float | None
    ) -> None:
        if per_s is None:
            self.kept = sorted(requests, key=lambda r: (-r.late_at_s, -r.ticket))
            self.aside: list[QueuedRequest] = []
            return
        jobs = [(r.late_at_s - now_s) * per_s + token_cost(r) for r in requests]
        ranked = sorted(zip(jobs, requests, strict=True), key=lambda job: (job[0], job[1].ticket))
        aside = _too_much(ranked)
        self.kept = [request for _, request in reversed(ranked) if request not in aside]
        self.aside = sorted(aside, key=lambda r: (-token_cost(r), -r.ticket))


def _too_much(ranked: Sequence[tuple[float, QueuedRequest]]) -> set[QueuedRequest]:
    """``ranked``: due dates in units of work from now, ascending, with their requests."""
    aside = set[QueuedRequest]()
    largest: list[tuple[float, int, QueuedRequest]] = []
    total = 0.0
    for due, request in ranked:
        work = token_cost(request)
        heapq.heappush(largest, (-work, request.ticket, request))
        total += work
        if total > due:
            negative, _, biggest = heapq.heappop(largest)
            aside.add(biggest)
            total += negative
    return aside


class OnTime(Topology):
    """First-token deadline order while all can be in time; the largest work waits when not.

    Under light load this is EDF; the more requests compete, the more it becomes shortest job
    first, without a threshold between the two. What a plan counts on is the work per second
    that the engine has lately admitted, times the hint ``load``: requests that arrive later
    with an early deadline need room, too. Plans are made every 50 ms (less often with
    thousands waiting); requests that come between two plans join by deadline. Late requests
    come last, oldest first. O(log n) per request, amortised.

    Starvation bound: aging alone; the largest work may be set aside in every plan.
    """

    name = "on_time"
    fights = "deadline misses at any load: as many requests in time as possible"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        "aging_every": HintSpec(
            200,
            2,
            1000,
            "one in this many admissions goes to the oldest waiting request, whatever its key",
        ),
        "load": HintSpec(0.65, 0.1, 2, "share of the measured service rate that plans count on"),
    }

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._rate = ServiceRate()
        self._plan = Plan((), 0.0, None)
        self._plan_again_s = float("-inf")
        self._open: dict[QueuedRequest, None] = {}
        self._planned: set[QueuedRequest] = set()
        self._fresh = LazyHeap(lambda request: request.late_at_s)
        self._late = LazyDeque()
        self._containers += [self._fresh, self._late]

    def remove(self, request: QueuedRequest) -> bool:
        self._open.pop(request, None)
        self._planned.discard(request)
        return super().remove(request)

    def _insert(self, request: QueuedRequest, now_s: float) -> None:
        self._rate.elapse(now_s, backlogged=self._size > 1)
        self._open[request] = None
        self._fresh.push(request)

    def _insert_many(self, requests: Sequence[QueuedRequest], now_s: float) -> None:
        self._rate.elapse(now_s, backlogged=False)
        self._open.update(dict.fromkeys(requests))
        self._fresh.load(requests)

    def _served(self, request: QueuedRequest) -> None:
        self._rate.served(token_cost(request))

    def _next(self, now_s: float) -> QueuedRequest | None:
        self._rate.elapse(now_s, backlogged=True)
        if now_s >= self._plan_again_s:
            self._make_plan(now_s)
        kept = self._first_of(self._plan.kept, now_s)
        fresh = self._first_fresh(now_s)
        if kept is not None and (fresh is None or kept.late_at_s <= fresh.late_at_s):
            return kept
        return fresh or self._first_of(self._plan.aside, now_s) or self._late.first()

    def _walk(self, now_s: float) -> Iterator[QueuedRequest]:
        kept = (r for r in reversed(self._plan.kept) if r in self._planned)
        by_deadline = heapq.merge(kept, self._fresh, key=lambda request: request.late_at_s)
        aside = (r for r in reversed(self._plan.aside) if r in self._planned)
        return chain(by_deadline, aside, self._late)

    def _make_plan(self, now_s: float) -> None:
        for request in [r for r in self._open if r.late_at_s < now_s]:
            self._give_up(request)
        measured, load = self._rate.per_s, self.hints["load"]
        self._plan = Plan(list(self._open), now_s, None if measured is None else load * measured)
        self._planned = set(self._open)
        self._fresh.clear()
        self._plan_again_s = now_s + max(PLAN_EVERY_S, PLAN_S_PER_REQUEST * len(self._open))

    def _first_of(self, planned: list[QueuedRequest], now_s: float) -> QueuedRequest | None:
        """The last of ``planned`` that still waits and can be in time."""
        while planned:
            request = planned[-1]
            if request in self._planned:
                if request.late_at_s >= now_s:
                    return request
                self._give_up(request)
            planned.pop()
        return None

    def _first_fresh(self, now_s: float) -> QueuedRequest | None:
        while (request := self._fresh.first()) is not None and request.late_at_s < now_s:
            self._give_up(request)
        return request

    def _give_up(self, request: QueuedRequest) -> None:
        """It cannot be in time any more; heaps skip what is late."""
        del self._open[request]
        self._planned.discard(request)
        request.late = True
        self._late.append(request)
