"""Predictive isolation: latency-sensitive requests apart from throughput-oriented ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import AGING, HintSpec, OnTimeTopology
from hmas.engine.topologies.cost import token_cost
from hmas.engine.topologies.queued import LazyHeap, QueuedRequest

_RECENT = 512
_WARM = 16


_MOST_WORK = 1e6


class TwoLane(OnTimeTopology):
    """A fast and a slow lane, split on T_tot, each ordered by urgency S_r (paper 3.5, Eq. 5).

    Of each ``gate_period`` admissions the fast lane gets ``fast_share``, the slow lane the
    rest; an empty lane passes its turn on. With ``split_s`` 0 the split follows the median
    T_tot of the last 512 requests. S_r counts in steps of ``slack_step_s``, and within a step the
    least work goes first: under overload the exact order by slack starts those that barely make
    it and loses the many that would have followed. Late requests of both lanes come after what
    is on time in either. O(log n).

    Starvation bound, besides aging: the slow lane gets at least one of each ``gate_period``
    admissions while it holds requests that are on time.
    """

    name = "two_lane"
    fights = "long requests that block short ones (sustained head-of-line blocking)"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        "aging_every": AGING._replace(default=100),
        "gate_period": HintSpec(10, 2, 100, "admissions in one turn of the gate"),
        "fast_share": HintSpec(0.7, 0.1, 0.9, "share of the gate's turn for the fast lane"),
        "split_s": HintSpec(0, 0, 3600, "T_tot in seconds that parts the lanes; 0: follow the mix"),
        "slack_step_s": HintSpec(30, 0, 3600, "seconds of slack that count alike; 0: none do"),
    }

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._fast = LazyHeap(self.urgency)
        self._slow = LazyHeap(self.urgency)
        self._slack_step_s = self.hints["slack_step_s"]
        self._containers += [self._fast, self._slow]
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._split_s = self.hints["split_s"]
        period = int(self.hints["gate_period"])
        self._gate_period = period
        self._fast_turns = min(period - 1, max(1, round(period * self.hints["fast_share"])))
        self._gate = 0
        self._until_split = 0

    def urgency(self, request: QueuedRequest) -> float:
        """Lower is served earlier. S_r without V_sys, which shifts all keys alike."""
        features = request.features
        slack_s = features.deadline_s - features.service_time_s
        if not self._slack_step_s:
            return slack_s
        work = token_cost(request)
        steps = slack_s // self._slack_step_s
        return steps * _MOST_WORK + (work if work < _MOST_WORK else _MOST_WORK - 1)

    def _push(self, request: QueuedRequest) -> None:
        service_s = request.features.service_time_s
        self._learn_split([service_s])
        (self._fast if service_s <= self._split_s else self._slow).push(request)

    def _push_all(self, requests: Sequence[QueuedRequest]) -> None:
        services = [request.features.service_time_s for request in requests]
        self._learn_split(services)
        fast: list[QueuedRequest] = []
        slow: list[QueuedRequest] = []
        for service_s, request in zip(services, requests, strict=True):
            (fast if service_s <= self._split_s else slow).append(request)
        self._fast.load(fast)
        self._slow.load(slow)

    def _best(self, now_s: float) -> QueuedRequest | None:
        first, second = self._lanes()
        return first.first() or second.first()

    def _by_rank(self, now_s: float) -> Iterator[QueuedRequest]:
        return chain(*self._lanes())

    def _served(self, request: QueuedRequest) -> None:
        self._gate = (self._gate + 1) % self._gate_period

    def _lanes(self) -> tuple[LazyHeap, LazyHeap]:
        if self._gate < self._fast_turns:
            return self._fast, self._slow
        return self._slow, self._fast

    def _learn_split(self, services: Sequence[float]) -> None:
        """Follow the mix; sorting the window once per 64 insertions keeps it cheap."""
        self._recent.extend(services[-_RECENT:])
        self._until_split -= len(services)
        if self.hints["split_s"] or (self._until_split > 0 and len(self._recent) > _WARM):
            return
        self._until_split = 64
        ranked = sorted(self._recent)
        self._split_s = ranked[len(ranked) // 2] if ranked else 0.0
