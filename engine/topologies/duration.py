"""Topologies against head-of-line blocking by long requests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from typing import ClassVar

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import AGING, HintSpec, KeyedTopology, OnTimeTopology
from hmas.engine.topologies.cost import remaining_service_s, remaining_work, token_cost
from hmas.engine.topologies.queued import LazyHeap, QueuedRequest

BY_WORK = HintSpec(0, 0, 1, "1: order by prompt + 2 x output tokens instead of T_tot")
SHORTEST_S = 0.001


class Sjf(KeyedTopology):
    """Shortest job first, keyed by the predicted service time T_tot. O(log n).

    With the hint ``by_work`` the key is the work that the request brings, in priced tokens.
    T_tot is mostly decode latency, which a batch shares among all its requests; while prefill
    is what the engine lacks, the order by work starts more requests in time.

    Starvation bound: aging alone; shorter requests may pass without end.
    """

    name = "sjf"
    fights = "head-of-line blocking under high length variance"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {"aging_every": AGING, "by_work": BY_WORK}

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._by_work = bool(self.hints["by_work"])

    def key(self, request: QueuedRequest) -> float:
        return token_cost(request) if self._by_work else request.features.service_time_s


class Srtf(KeyedTopology):
    """Shortest remaining time first, with preemption of what runs. O(log n).

    Orders by what is left to do: all of it, or after a preemption the rest and the recompute; in
    priced tokens, or with ``by_work`` 0 by T_tot.
    While the engine is full and the next request is on time, the core may take the slot of the
    running request with the longest rest (:mod:`hmas.engine.preemption`): only if that rest is
    ``hysteresis`` times as long, if it has run for ``min_run_s`` and was preempted fewer than
    ``max_preemptions`` times, and if recomputing costs less than the swap saves.

    Starvation bound: aging alone while waiting; a request loses its slot ``max_preemptions``
    times at most.
    """

    name = "srtf"
    fights = "short requests stuck behind long ones that already run"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        "aging_every": AGING,
        "by_work": BY_WORK._replace(default=1),
        "hysteresis": HintSpec(4, 1, 100, "how many times longer the victim's rest must be"),
        "max_preemptions": HintSpec(2, 0, 8, "most preemptions of one request; 0: none at all"),
        "min_run_s": HintSpec(1, 0, 60, "seconds that a request runs before it may be preempted"),
    }

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._by_work = bool(self.hints["by_work"])

    def challenger(self, now_s: float) -> QueuedRequest | None:
        """The shortest on time, when it is its turn."""
        shortest = self._best(now_s) if self.hints["max_preemptions"] else None
        return shortest if shortest is self.peek(now_s) else None

    def key(self, request: QueuedRequest) -> float:
        return remaining_work(request) if self._by_work else remaining_service_s(request)


class ResponseRatios:
    """Highest (wait + T) / T first, at the moment ``now_s``, for keys that time reorders.

    Requests are kept in classes of service time, ``PER_OCTAVE`` to a doubling and oldest first
    inside; only the heads of the classes are compared. A request passed over inside its class
    is at most 2^(1/8) = 1.09 times shorter than the head and younger, so the ratio of wait to
    service that is served is within 9 % of the highest. O(c + log n) with c the classes in use:
    at most 8 for each doubling between the shortest and the longest, whatever waits.
    """

    PER_OCTAVE: ClassVar[int] = 8

    def __init__(self) -> None:
        self.now_s = 0.0
        self._classes: dict[int, LazyHeap] = {}

    def push(self, request: QueuedRequest) -> None:
        self._classes.setdefault(self._number(request), LazyHeap(_arrival_s)).push(request)

    def load(self, requests: Iterable[QueuedRequest]) -> None:
        classes: dict[int, list[QueuedRequest]] = {}
        for request in requests:
            classes.setdefault(self._number(request), []).append(request)
        for number, members in classes.items():
            self._classes.setdefault(number, LazyHeap(_arrival_s)).load(members)

    def first(self) -> QueuedRequest | None:
        best: QueuedRequest | None = None
        for number, heap in list(self._classes.items()):
            head = heap.first()
            if head is None:
                del self._classes[number]
            elif best is None or self._rank(head) < self._rank(best):
                best = head
        return best

    def compact(self) -> None:
        for heap in self._classes.values():
            heap.compact()

    def __iter__(self) -> Iterator[QueuedRequest]:
        heads: Iterable[LazyHeap] = list(self._classes.values())
        return merge(*heads, key=self._rank)

    def _number(self, request: QueuedRequest) -> int:
        return math.floor(math.log2(_service_s(request)) * self.PER_OCTAVE)

    def _rank(self, request: QueuedRequest) -> tuple[float, int]:
        waited_s = max(0.0, self.now_s - request.features.arrival_s)
        return -waited_s / _service_s(request), request.ticket


class Hrrn(OnTimeTopology):
    """Highest response ratio next: (wait + T_tot) / T_tot, within 9 % of the highest.

    Short requests first, but each waits at most in proportion to its own length. The ratio
    changes with time at a pace of its own for each request: :class:`ResponseRatios` says how
    that stays cheap, and what it costs in precision. O(c + log n) with c some dozens.

    Starvation bound, besides aging: a request of service T that waited w is passed by no request
    of service T' that waited less than 0.91 · w · T' / T.
    """

    name = "hrrn"
    fights = "head-of-line blocking without starving the long requests"

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._ratios = ResponseRatios()
        self._containers.append(self._ratios)

    def _push(self, request: QueuedRequest) -> None:
        self._ratios.push(request)

    def _push_all(self, requests: Sequence[QueuedRequest]) -> None:
        self._ratios.load(requests)

    def _best(self, now_s: float) -> QueuedRequest | None:
        self._ratios.now_s = now_s
        return self._ratios.first()

    def _by_rank(self, now_s: float) -> Iterator[QueuedRequest]:
        self._ratios.now_s = now_s
        return iter(self._ratios)


def _arrival_s(request: QueuedRequest) -> float:
    return request.features.arrival_s


def _service_s(request: QueuedRequest) -> float:
    return max(SHORTEST_S, remaining_service_s(request))
