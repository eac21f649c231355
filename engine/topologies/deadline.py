"""Topologies against deadline misses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import AGING, HintSpec, KeyedTopology
from hmas.engine.topologies.cost import remaining_service_s
from hmas.engine.topologies.queued import QueuedRequest


class Edf(KeyedTopology):
    """Earliest deadline first, keyed by D_r (paper 3.5). O(log n).

    With the hint ``first_token`` the key is the deadline of the first token: D_r adds the
    decode allowance SLO_tpot · l_pred, which ranks a long request behind a short one with the
    same TTFT target although both can start equally late.

    Starvation bound, besides aging: a request that missed its target waits for those on time
    and for older late ones.
    """

    name = "edf"
    fights = "deadline misses"
    HINTS: ClassVar[Mapping[str, HintSpec]] = {
        "aging_every": AGING,
        "first_token": HintSpec(0, 0, 1, "1: order by the first token's deadline instead of D_r"),
    }

    def __init__(self, hints: Hints | None = None) -> None:
        super().__init__(hints)
        self._by_first_token = bool(self.hints["first_token"])

    def key(self, request: QueuedRequest) -> float:
        return request.late_at_s if self._by_first_token else request.features.deadline_s


class Llf(KeyedTopology):
    """Least laxity first: the request with the least slack S_r (paper Eq. 5). O(log n).

    S_r = D_r - V_sys - T_tot falls by one second per second for everyone who waits, so the order
    by D_r - T_tot is the order by slack at any moment. Against ``edf`` it favours long service.

    Starvation bound, besides aging: as ``edf``.
    """

    name = "llf"
    fights = "deadline misses of requests that take long to serve"

    def key(self, request: QueuedRequest) -> float:
        return request.features.deadline_s - remaining_service_s(request)
