"""Topologies against head-of-line blocking by long requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import AGING, DeadlineAwareTopology, HintSpec
from hmas.engine.topologies.fairness import token_cost
from hmas.engine.topologies.queued import QueuedRequest


class Sjf(DeadlineAwareTopology):
    """Shortest job first, keyed by the predicted service time T_tot. O(log n).

    With the hint ``by_work`` the key is the work that the request brings, in priced tokens.
    T_tot is mostly decode latency, which a batch shares among all its requests; while prefill
    is what the engine lacks, the order by work starts more requests in time.
    """

    name = "sjf"
    fights = "head-of-line blocking under high length variance"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        "aging_every": AGING,
        "by_work": HintSpec(0, 0, 1, "1: order by prompt + 2 x output tokens instead of T_tot"),
    }

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._by_work = bool(self.hints["by_work"])

    def key(self, request: QueuedRequest) -> float:
        return token_cost(request) if self._by_work else request.features.service_time_s
