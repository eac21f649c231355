"""How much risk the admission fence takes: epsilon between the nominal one and no fence.

Eq. 2 books the *final* length of everything that runs. Sequences rarely reach their end
together, so at the nominal epsilon part of the KV cache stays empty while requests wait. On a
paged engine the price of a wrong guess is a preemption, not an out-of-memory crash: what it
costs is the time to compute the lost context again. So the fence is opened in steps, in the
end taken away, while it holds requests back beside free memory, and closed step by step while
recomputation takes more than its band of the engine's time.
"""

from __future__ import annotations

from typing import Final

from hmas.controllers.config import StateraConfig
from hmas.controllers.views import VShort
from hmas.engine.directive import EngineLimits, StepModel

STEPS: Final = (0.25, 0.5, 0.75, 0.95, None)
"""Epsilon after the nominal one; None: no fence."""

OPEN_EVERY_S: Final = 1.0
CLOSE_EVERY_S: Final = 10.0
"""Preemptions stay in the latency window this long; closing again sooner counts them twice."""

HELD_BACK_S: Final = 1.0
"""A queue that lasts this long beside free memory is the fence's doing."""

ASSUMED_SHARE: Final = 0.1
"""Recompute share of one preemption per completed request, while no step model is known."""


class FenceRisk:
    """``update`` each cycle gives the epsilon of the fence to export, None for no fence."""

    def __init__(self, config: StateraConfig, nominal: float) -> None:
        self._config = config
        self._levels = [nominal, *(e for e in STEPS if e is None or e > nominal)]
        self._level = 0
        self._next_open_s = 0.0
        self._next_close_s = 0.0
        self._held_since_s: float | None = None

    @property
    def epsilon(self) -> float | None:
        return self._levels[self._level]

    @property
    def strictest(self) -> bool:
        """At the nominal epsilon."""
        return self._level == 0

    def update(self, view: VShort, n_run: float, recomputing: float) -> float | None:
        """``recomputing``: see :func:`recompute_share`."""
        now_s, band = view.at_s, self._config.recompute_band
        if recomputing > band:
            if now_s >= self._next_close_s:
                self._level = max(0, self._level - 1)
                self._next_close_s = now_s + CLOSE_EVERY_S
            self._next_open_s = now_s + CLOSE_EVERY_S
        elif now_s >= self._next_open_s and self._may_open(view, n_run, recomputing):
            self._level = min(len(self._levels) - 1, self._level + 1)
            self._next_open_s = now_s + OPEN_EVERY_S
        return self.epsilon

    def _may_open(self, view: VShort, n_run: float, recomputing: float) -> bool:
        """Requests keep waiting beside free memory and slots, and preemptions cost little."""
        if not self._holding_back(view, n_run):
            self._held_since_s = None
            return False
        if self._held_since_s is None:
            self._held_since_s = view.at_s
        lasting = view.at_s - self._held_since_s >= HELD_BACK_S
        return lasting and recomputing < self._config.recompute_band / 2

    def _holding_back(self, view: VShort, n_run: float) -> bool:
        if view.waiting is None or view.running is None or view.kv_used is None:
            return False
        free = view.kv_used < self._config.kv_target and view.running < 0.9 * n_run
        return view.waiting > 0 and free


def recompute_share(view: VShort, limits: EngineLimits, step_model: StepModel | None) -> float:
    """Share of the engine's time that goes into computing preempted contexts again."""
    preempted, running = view.preemptions_per_s or 0.0, view.running or 0
    if not preempted or not running or view.kv_used is None:
        return 0.0
    if step_model is None:
        return ASSUMED_SHARE * preempted / max(view.completions_per_s or 0.0, 0.1)
    context_tokens = view.kv_used * limits.kv_blocks * limits.block_size / running
    return preempted * context_tokens * step_model.prefill_ms / 1000.0
