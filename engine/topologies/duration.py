"""Topologies against head-of-line blocking by long requests."""

from __future__ import annotations

from hmas.engine.topologies.base import DeadlineAwareTopology
from hmas.engine.topologies.queued import QueuedRequest


class Sjf(DeadlineAwareTopology):
    """Shortest job first, keyed by the predicted service time T_tot. O(log n)."""

    name = "sjf"
    fights = "head-of-line blocking under high length variance"

    def key(self, request: QueuedRequest) -> float:
        return request.features.service_time_s
