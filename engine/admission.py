"""The admission fence: calibrated KV memory of what runs stays within capacity (paper Eq. 2)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable

from hmas.engine.directive import Controls, EngineLimits
from hmas.engine.topologies.queued import QueuedRequest

SKIP_AHEAD = 16
"""Most requests that may start past one that does not fit; then it goes next, if need be alone."""

SCAN = 8
"""How far down the order admission looks for a request that fits."""

OUTGROWN_SHARE = 0.25
"""A request that outgrew its bound books this share of its length on top, again and again."""

TokensOf = Callable[[QueuedRequest], int]
MaxTokensOf = Callable[[QueuedRequest], int | None]


class AdmissionFence:
    """Books KV blocks for what runs: ``Σ m_KV(l_upper) ≤ M_cap (1 − δ_frag)``.

    ``tokens_of`` tells how many tokens a running request holds now and ``max_tokens_of`` the
    client's own limit on its output; both read the host's payload. Booking, releasing and one
    step's upkeep cost O(log n) amortised, whatever runs or waits.
    """

    def __init__(
        self, limits: EngineLimits, tokens_of: TokensOf, max_tokens_of: MaxTokensOf
    ) -> None:
        self._limits = limits
        self._tokens_of = tokens_of
        self._max_tokens_of = max_tokens_of
        self._fence: dict[int, int] | None = None
        self._capacity = limits.kv_blocks
        self._booked: dict[QueuedRequest, int] = {}
        self._booked_blocks = 0
        self._outgrow: list[tuple[int, int, QueuedRequest]] = []
        self._steps = 0
        self._pushes = 0
        self._watched: dict[QueuedRequest, int] = {}

    @property
    def active(self) -> bool:
        return self._fence is not None

    @property
    def booked_blocks(self) -> int:
        return self._booked_blocks

    @property
    def capacity_blocks(self) -> int:
        return self._capacity

    def configure(self, controls: Controls) -> None:
        """Take over fence and margin; what already runs stays, re-booked under the new bound."""
        changed = controls.fence != self._fence
        self._fence = controls.fence
        self._capacity = math.floor(self._limits.kv_blocks * (1 - controls.kv_margin))
        if changed:
            for request in list(self._booked):
                self._book(request, self._upper_tokens(request))

    def upper_output_tokens(self, request: QueuedRequest) -> int:
        """l_upper = l_pred + q_{1-eps}(D_b) (Eq. 4), within the client's own limit."""
        features = request.features
        upper = features.predicted_output_tokens
        if self._fence:
            upper += self._fence.get(features.length_bucket, max(self._fence.values()))
        limit = self._max_tokens_of(request)
        return max(1, upper if limit is None else min(upper, limit))

    def need_blocks(self, request: QueuedRequest) -> int:
        """m_KV in cache blocks, the request's present tokens at least."""
        return self._blocks(self._upper_tokens(request))

    def fits(self, request: QueuedRequest, extra_blocks: int = 0) -> bool:
        """Whether it may start now; with nothing running, everything may."""
        if self._fence is None or not (self._booked or extra_blocks):
            return True
        return self._booked_blocks + extra_blocks + self.need_blocks(request) <= self._capacity

    def admissible(self, requests: Iterable[QueuedRequest], limit: int) -> int:
        """How many of the first ``limit`` may start together, in this order."""
        extra = count = 0
        for request in requests:
            if count >= limit or not self.fits(request, extra):
                break
            extra += self.need_blocks(request)
            count += 1
        return count

    def start(self, request: QueuedRequest) -> None:
        """Book a request that begins to run."""
        self._book(request, self._upper_tokens(request))

    def release(self, request: QueuedRequest) -> None:
        """Its blocks are free again; unknown requests are ignored."""
        self._booked_blocks -= self._booked.pop(request, 0)
        self._watched.pop(request, None)

    def step(self) -> None:
        """Once per engine step: re-book those that may have outgrown their bound."""
        self._steps += 1
        while self._outgrow and self._outgrow[0][0] <= self._steps:
            _, push, request = heapq.heappop(self._outgrow)
            if self._watched.get(request) != push:
                continue
            held = self._tokens_of(request)
            room = self._booked[request] * self._limits.block_size - held
            if room > 0:
                self._watch(request, room)
            else:
                self._book(request, held + math.ceil(held * OUTGROWN_SHARE))

    def _upper_tokens(self, request: QueuedRequest) -> int:
        prompt = request.features.prompt_tokens
        return max(self._tokens_of(request), prompt + self.upper_output_tokens(request))

    def _blocks(self, tokens: int) -> int:
        return math.ceil(min(tokens, self._limits.max_model_len) / self._limits.block_size)

    def _book(self, request: QueuedRequest, tokens: int) -> None:
        blocks = self._blocks(tokens)
        self._booked_blocks += blocks - self._booked.get(request, 0)
        self._booked[request] = blocks
        room = blocks * self._limits.block_size - self._tokens_of(request)
        self._watch(request, max(1, room))

    def _watch(self, request: QueuedRequest, steps: int) -> None:
        """A step adds at most one token, so nothing can happen before ``steps`` have passed."""
        self._pushes += 1
        self._watched[request] = self._pushes
        heapq.heappush(self._outgrow, (self._steps + steps, self._pushes, request))
