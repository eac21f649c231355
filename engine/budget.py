"""The token budget of one step, bounded by the TPOT targets of what decodes."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from hmas.engine.directive import Controls, EngineLimits
from hmas.engine.topologies.queued import QueuedRequest

MIN_PREFILL_SHARE = 1 / 32
"""Share of the full budget that prefill keeps while decodes alone already miss the target:
without it nothing new would ever start."""

TokensOf = Callable[[QueuedRequest], int]


class TpotCredit:
    """How long the next step may take: TPOT is a mean, so short steps buy a long one.

    A request whose first token came at ``t_1``, ``k`` steps ago, may be at ``t_1 + (k + 1)·T``
    after the next one, with T its target times the guard; what is left of that is its credit.
    Requests of one target keep their order while all of them get a token per step, so a heap
    per target finds the least credit. A request that was resumed after a preemption has none:
    its past is not known here. O(log n) per request, O(targets) per step.
    """

    def __init__(self, guard: float) -> None:
        self._guard = guard
        self._decoding: dict[QueuedRequest, tuple[float, int]] = {}
        self._heaps: dict[float, list[tuple[float, int, QueuedRequest]]] = {}
        self._pushes = 0

    def __len__(self) -> int:
        return len(self._decoding)

    def set_guard(self, guard: float) -> None:
        if guard == self._guard:
            return
        self._guard, self._heaps = guard, {}
        for request, since in self._decoding.items():
            self._push(request, since)

    def start(self, request: QueuedRequest, now_s: float, step: int) -> None:
        """Its first token is out before step number ``step``."""
        since = now_s * 1000.0, step
        self._decoding[request] = since
        self._push(request, since)

    def release(self, request: QueuedRequest) -> bool:
        return self._decoding.pop(request, None) is not None

    def allowed_ms(self, now_s: float, step: int) -> float | None:
        """The longest next step that keeps every mean within its guarded target.

        Never less than the tightest guarded target: a request that is behind already must not
        hold all the others back. None while nothing decodes.
        """
        least: float | None = None
        for target_ms in list(self._heaps):
            debt_ms = self._largest_debt_ms(target_ms)
            if debt_ms is None:
                continue
            each_ms = target_ms * self._guard
            credit_ms = each_ms * step - now_s * 1000.0 - debt_ms
            allowed_ms = each_ms + max(0.0, credit_ms)
            least = allowed_ms if least is None else min(least, allowed_ms)
        return least

    def _push(self, request: QueuedRequest, since: tuple[float, int]) -> None:
        first_ms, step = since
        target_ms = request.features.slo_tpot_ms
        debt_ms = target_ms * self._guard * step - first_ms
        self._pushes += 1
        heap = self._heaps.setdefault(target_ms, [])
        heapq.heappush(heap, (-debt_ms, self._pushes, request))

    def _largest_debt_ms(self, target_ms: float) -> float | None:
        """Of the requests with this target that still decode; forgets the others."""
        heap = self._heaps[target_ms]
        while heap:
            debt_ms, _, request = heap[0]
            since = self._decoding.get(request)
            if since is not None and self._debt_ms(target_ms, since) == -debt_ms:
                return -debt_ms
            heapq.heappop(heap)
        del self._heaps[target_ms]
        return None

    def _debt_ms(self, target_ms: float, since: tuple[float, int]) -> float:
        first_ms, step = since
        return target_ms * self._guard * step - first_ms


class StepBudget:
    """Turns the TPOT targets of what decodes into B_token."""

    def __init__(self, limits: EngineLimits, tokens_of: TokensOf) -> None:
        self._limits = limits
        self._tokens_of = tokens_of
        self._floor = max(1, int(limits.max_num_batched_tokens * MIN_PREFILL_SHARE))
        self._prefilling: dict[QueuedRequest, None] = {}
        self._resumed: dict[QueuedRequest, None] = {}
        self._credit = TpotCredit(1.0)
        self._steps = 0
        self._now_s = 0.0

    def start(self, request: QueuedRequest) -> None:
        """It was admitted; one that already has output had been preempted."""
        fresh = self._tokens_of(request) <= request.features.prompt_tokens
        (self._prefilling if fresh else self._resumed)[request] = None

    def release(self, request: QueuedRequest) -> None:
        if not self._credit.release(request):
            self._prefilling.pop(request, None)
            self._resumed.pop(request, None)

    def begin_step(self, now_s: float) -> None:
        """Once per step: notices whose first token came with the last one."""
        self._steps += 1
        self._now_s = now_s
        for request in list(self._prefilling):
            if self._tokens_of(request) > request.features.prompt_tokens:
                del self._prefilling[request]
                self._credit.start(request, now_s, self._steps)

    def tokens(self, controls: Controls, running: int, decodes: int, context_tokens: int) -> int:
        """B_token of the next step: tokens of decodes and prefill together.

        ``decodes`` of the ``running`` requests generate; ``context_tokens`` is what these attend
        to. Never below ``running + 1``, so that no decode at the tail starves.
        """
        most = self._limits.max_num_batched_tokens
        budget = most if controls.token_budget is None else min(most, controls.token_budget)
        if controls.step_model is not None and decodes:
            allowed_ms = self.allowed_ms(controls.tpot_guard)
            room = (
                None
                if allowed_ms is None
                else controls.step_model.max_prefill_tokens(allowed_ms, context_tokens, decodes + 1)
            )
            if room is not None:
                budget = min(budget, decodes + max(self._floor, room))
        return min(most, max(budget, running + 1))

    def allowed_ms(self, guard: float) -> float | None:
        """The longest step that what decodes can bear, None when nothing does."""
        self._credit.set_guard(guard)
        allowed_ms = self._credit.allowed_ms(self._now_s, self._steps)
        if not self._resumed:
            return allowed_ms
        tightest_ms = guard * min(request.features.slo_tpot_ms for request in self._resumed)
        return tightest_ms if allowed_ms is None else min(allowed_ms, tightest_ms)
