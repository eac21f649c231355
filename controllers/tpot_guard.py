"""How much of a TPOT target a step may use: as much as keeps misses rare.

A guard too strict wastes prefill, one too loose misses targets; where the best lies depends on
how well the step model fits and on how steadily the engine steps. So the guard follows what
happens: each miss lowers it by ``step * (1 - rate)``, each hit raises it by ``step * rate``,
and where it settles the share ``rate`` of the requests misses its TPOT target (the extremum of
goodput lies where misses begin; the update is the quantile tracking of online conformal
inference, Gibbs and Candes 2021).
"""

from __future__ import annotations

from typing import Final

from hmas.controllers.config import StateraConfig

LEVEL: Final = 0.05
"""Changes are published in steps of this size, so that directives stay rare."""


class TpotGuard:
    """The share of the tightest TPOT target that one step may take."""

    def __init__(self, config: StateraConfig) -> None:
        self._config = config
        self._exact = self._published = config.tpot_guard

    @property
    def value(self) -> float:
        if abs(self._exact - self._published) >= LEVEL:
            self._published = round(round(self._exact / LEVEL) * LEVEL, 6)
        return self._published

    def observe(self, *, missed: bool) -> None:
        """A request completed with two output tokens or more."""
        config = self._config
        if not config.guard_step:
            return
        rate = config.tpot_miss_rate
        moved = self._exact + config.guard_step * (rate - 1 if missed else rate)
        self._exact = min(config.tpot_guard_high, max(config.tpot_guard_low, moved))
