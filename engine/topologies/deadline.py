"""Topologies against deadline misses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hmas.engine.directive import Hints
from hmas.engine.topologies.base import AGING, DeadlineAwareTopology, HintSpec
from hmas.engine.topologies.queued import QueuedRequest


class Edf(DeadlineAwareTopology):
    """Earliest deadline first, keyed by D_r (paper 3.5). O(log n).

    With the hint ``first_token`` the key is the deadline of the first token: D_r adds the
    decode allowance SLO_tpot · l_pred, which ranks a long request behind a short one with the
    same TTFT target although both can start equally late.
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
