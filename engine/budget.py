"""The token budget of one step, bounded by the tightest TPOT target that runs."""

from __future__ import annotations

from hmas.engine.directive import Controls, EngineLimits
from hmas.engine.topologies.queued import QueuedRequest

MIN_PREFILL_SHARE = 1 / 32
"""Share of the full budget that prefill keeps while decodes alone already miss the target:
without it nothing new would ever start."""


class StepBudget:
    """Tracks the TPOT targets of what runs and turns them into B_token. O(1) amortised."""

    def __init__(self, limits: EngineLimits) -> None:
        self._limits = limits
        self._targets: dict[float, int] = {}
        self._tightest_ms: float | None = None
        self._floor = max(1, int(limits.max_num_batched_tokens * MIN_PREFILL_SHARE))

    @property
    def tightest_tpot_ms(self) -> float | None:
        """Tightest TPOT target among the running requests, None when nothing runs."""
        if self._tightest_ms is None and self._targets:
            self._tightest_ms = min(self._targets)
        return self._tightest_ms

    def start(self, request: QueuedRequest) -> None:
        target = request.features.slo_tpot_ms
        self._targets[target] = self._targets.get(target, 0) + 1
        if self._tightest_ms is not None:
            self._tightest_ms = min(self._tightest_ms, target)

    def release(self, request: QueuedRequest) -> None:
        target = request.features.slo_tpot_ms
        left = self._targets[target] - 1
        if left:
            self._targets[target] = left
            return
        del self._targets[target]
        if target == self._tightest_ms:
            self._tightest_ms = None

    def tokens(self, controls: Controls, running: int, decodes: int, context_tokens: int) -> int:
        """B_token of the next step: tokens of decodes and prefill together.

        ``decodes`` of the ``running`` requests generate; ``context_tokens`` is what these attend
        to. Never below ``running + 1``, so that no decode at the tail starves.
        """
        most = self._limits.max_num_batched_tokens
        budget = most if controls.token_budget is None else min(most, controls.token_budget)
        tightest = self.tightest_tpot_ms
        if controls.step_model is not None and tightest is not None and decodes:
            room = controls.step_model.max_prefill_tokens(
                tightest * controls.tpot_guard, context_tokens, decodes + 1
            )
            if room is not None:
                budget = min(budget, decodes + max(self._floor, room))
        return min(most, max(budget, running + 1))
