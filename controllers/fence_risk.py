"""How much risk the admission fence takes: epsilon between the nominal one and stock's.

Eq. 2 books the *final* length of everything that runs. Sequences rarely reach their end
together, so at the nominal epsilon part of the KV cache stays empty while requests wait. On a
paged engine the price of a wrong guess is a preemption, not an out-of-memory crash, so epsilon
is opened in steps while the fence holds requests back beside free memory, and closed at once
when preemptions appear.
"""

from __future__ import annotations

from typing import Final

from hmas.controllers.config import StateraConfig
from hmas.controllers.views import VShort

MOST: Final = 0.95
OPEN_STEP: Final = 0.05
CLOSE_STEP: Final = 0.15
OPEN_EVERY_S: Final = 2.0
CLOSE_EVERY_S: Final = 10.0
"""Preemptions stay in the latency window this long; closing again sooner counts them twice."""


class FenceRisk:
    """``update`` each cycle gives the epsilon of the fence to export."""

    def __init__(self, config: StateraConfig, epsilon: float) -> None:
        self._config = config
        self._nominal = epsilon
        self.epsilon = epsilon
        self._next_open_s = 0.0
        self._next_close_s = 0.0

    @property
    def strictest(self) -> bool:
        return self.epsilon <= self._nominal

    def update(self, view: VShort, n_run: float) -> float:
        now_s = view.at_s
        if self._preempting(view):
            if now_s >= self._next_close_s:
                self.epsilon = max(self._nominal, self.epsilon - CLOSE_STEP)
                self._next_close_s = now_s + CLOSE_EVERY_S
            self._next_open_s = now_s + CLOSE_EVERY_S
        elif now_s >= self._next_open_s and self._holding_back(view, n_run):
            self.epsilon = min(MOST, self.epsilon + OPEN_STEP)
            self._next_open_s = now_s + OPEN_EVERY_S
        return self.epsilon

    def _preempting(self, view: VShort) -> bool:
        return preemption_ratio(view) > self._config.preemption_band

    def _holding_back(self, view: VShort, n_run: float) -> bool:
        """Requests wait beside free memory and free slots."""
        if view.waiting is None or view.running is None or view.kv_used is None:
            return False
        free = view.kv_used < self._config.kv_target and view.running < 0.9 * n_run
        return view.waiting > 0 and free


def preemption_ratio(view: VShort) -> float:
    """Preemptions per completed request."""
    preempted, completed = view.preemptions_per_s or 0.0, view.completions_per_s or 0.0
    return preempted / max(completed, 0.1)
