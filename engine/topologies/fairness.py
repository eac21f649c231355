"""Topologies that share the engine between tenants."""

from __future__ import annotations

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import KeyedTopology
from hmas.engine.topologies.queued import QueuedRequest

OUTPUT_TOKEN_PRICE = 2.0
"""Output tokens cost twice an input token (w_o = 2 · w_i, paper B.2)."""


def token_cost(request: QueuedRequest) -> float:
    """Priced tokens that the request is expected to take."""
    features = request.features
    return features.prompt_tokens + OUTPUT_TOKEN_PRICE * features.predicted_output_tokens


class Wfq(KeyedTopology):
    """Weighted fair queueing by tenant: smallest virtual finish time first.

    A request of tenant i starts at max(V, F_i) and finishes cost/weight later; V is the start
    tag of the last admitted request (start-time fair queueing, Goyal et al. 1996), so an idle
    tenant earns no credit. O(log n).

    Starvation bound, besides aging: while tenant i waits, any other tenant j is admitted at
    most its weighted share plus one request ahead of it.
    """

    name = "wfq"
    fights = "one tenant that crowds out others (persistent unfairness)"

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._virtual_time = 0.0
        self._finish: dict[str, float] = {}
        self._starts: dict[int, float] = {}

    def key(self, request: QueuedRequest) -> float:
        features = request.features
        start = max(self._virtual_time, self._finish.get(features.tenant, 0.0))
        finish = start + token_cost(request) / features.tenant_weight
        self._finish[features.tenant] = finish
        self._starts[request.ticket] = start
        return finish

    def remove(self, request: QueuedRequest) -> bool:
        self._starts.pop(request.ticket, None)
        return super().remove(request)

    def _served(self, request: QueuedRequest) -> None:
        start = self._starts.get(request.ticket, self._virtual_time)
        self._virtual_time = max(self._virtual_time, start)
        if len(self._finish) > 64 + 2 * len(self._starts):
            self._forget_idle_tenants()

    def _forget_idle_tenants(self) -> None:
        self._finish = {
            tenant: finish for tenant, finish in self._finish.items() if finish > self._virtual_time
        }
