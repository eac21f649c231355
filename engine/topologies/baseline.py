"""The availability baseline: first come, first served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from hmas.engine.topologies.base import HintSpec, Topology
from hmas.engine.topologies.queued import QueuedRequest


class Fcfs(Topology):
    """Oldest first: what stock vLLM does, the target of bypass. O(1).

    Starvation bound: a request waits for the requests that came before it, no others.
    """

    name = "fcfs"
    fights = "nothing: the stable fallback"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {}

    def _insert(self, request: QueuedRequest, now_s: float) -> None:
        """The arrival order, which every topology keeps, is the order."""

    def _next(self, now_s: float) -> QueuedRequest | None:
        return self._arrivals.first()

    def _walk(self, now_s: float) -> Iterator[QueuedRequest]:
        return iter(self._arrivals)
