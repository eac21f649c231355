"""Statera: admission fence, token budget and concurrency (paper 3.4.2, Algorithm 2).

What is regulated is goodput, so three things differ from a plain utilisation band:

- u_t is the *TPOT utilisation*: time from step to step over the tight TPOT target. GPU busy
  time is near 1 as soon as one request runs and says nothing about headroom.
- Closing a control (less B_token, less N_run) trades TTFT for TPOT. It happens only while
  TPOT is what fails most; where TTFT fails more the controls open.
- The band of u_t is not fixed: its upper edge is sought where goodput is best (``band``).

Nothing moves inside a dead band or without measurements; with nothing violated and TPOT
headroom the controls are wide open, as stock vLLM runs. The bound that matters at every
step, step time against the tightest running TPOT target, is feed-forward: ``step_model`` and
``tpot_guard`` travel in the directive and the engine evaluates them.
"""

from __future__ import annotations

import math
from typing import Final

from hmas.controllers.band import BandSeeker
from hmas.controllers.config import StateraConfig
from hmas.controllers.conformal import ConformalBound
from hmas.controllers.fence_risk import FenceRisk, recompute_share
from hmas.controllers.tpot_guard import TpotGuard
from hmas.controllers.views import VShort
from hmas.engine.directive import Controls, EngineLimits, StepModel

OPEN_RATE: Final = math.log(2)
"""Unused restraint is undone by doubling once per second: it costs nothing and saves time."""

LIGHT_ERROR: Final = -1.0
"""The error of an engine with nothing to do."""

THRASHING: Final = 2.0
"""Recomputation beyond this many times its band calls for fewer running requests."""

BINDING: Final = 0.9
"""N_run binds when at least this share of it runs."""


class Actuator:
    """One control on a logarithmic scale between two bounds, published in levels.

    ``value`` moves freely; ``level_value`` follows only when it is most of a level away, so
    a directive does not change with every cycle.
    """

    def __init__(self, low: int, high: int, levels: int) -> None:
        self.low, self.high = min(low, high), high
        self.value = float(high)
        self._levels = levels
        self._span = math.log(self.high / self.low) if self.high > self.low else 0.0
        self._level = levels

    @property
    def at_low(self) -> bool:
        return self.value <= self.low * 1.001

    @property
    def at_high(self) -> bool:
        return self.value >= self.high * 0.999

    def scale(self, log_change: float) -> None:
        """Multiply by ``exp(log_change)``, projected into the bounds."""
        self.value = min(self.high, max(self.low, self.value * math.exp(log_change)))

    def track(self, used: float) -> None:
        """Anti-windup: a cap above what is used does not bind, so closing starts from there."""
        self.value = min(self.value, max(self.low, used))

    def level_value(self) -> int:
        if not self._span or self.at_high:
            self._level = self._levels
            return self.high
        exact = self._levels * math.log(self.value / self.low) / self._span
        if abs(exact - self._level) > 0.75:
            self._level = round(exact)
        return max(self.low, round(self.low * math.exp(self._span * self._level / self._levels)))


class Statera:
    """``update`` once per cycle; the same inputs in the same order give the same controls."""

    def __init__(
        self, config: StateraConfig, limits: EngineLimits, epsilon: float, guard: TpotGuard
    ) -> None:
        self._config = config
        self._limits = limits
        tokens, sequences = limits.max_num_batched_tokens, limits.max_num_seqs
        self.budget = Actuator(config.min_token_budget, tokens, config.levels)
        self.n_run = Actuator(config.min_n_run, sequences, config.levels)
        self.risk = FenceRisk(config, epsilon)
        self.guard = guard
        self.band = BandSeeker(config)
        self._mean_error = 0.0
        self._recomputing = 0.0
        self._last_s: float | None = None

    @property
    def wide_open(self) -> bool:
        """Neither budget nor concurrency is held below the engine's own limits."""
        return self.budget.at_high and self.n_run.at_high

    def open_wide(self) -> None:
        """Forget all restraint: somebody else took the controls, or they did harm."""
        self.budget.value, self.n_run.value = float(self.budget.high), float(self.n_run.high)
        self._mean_error = 0.0

    def update(
        self, view: VShort, calibration: ConformalBound, step_model: StepModel | None
    ) -> Controls:
        """C_t for the next cycle."""
        if not self._config.enabled:
            return Controls()
        seconds = self._elapsed_s(view.at_s)
        self.band.observe(view, binding=not self.wide_open)
        error = self._error(view)
        self._recomputing = recompute_share(view, self._limits, step_model)
        if error is not None and seconds > 0:
            self._regulate(error, view, seconds)
        epsilon = self.risk.update(view, self.n_run.value, self._recomputing)
        return Controls(
            n_run=self.n_run.level_value(),
            token_budget=self._token_budget(known=step_model is not None),
            fence=self._fence(calibration, epsilon),
            kv_margin=self._config.kv_margin,
            step_model=step_model,
            tpot_guard=self.guard.value,
        )

    def _token_budget(self, *, known: bool) -> int:
        """Short steps until it is known how long they take: a few cost little, one long one a
        target."""
        budget = self.budget.level_value()
        if known:
            return budget
        return min(budget, max(self.budget.low, round(self._config.cold_share * self.budget.high)))

    def _fence(self, calibration: ConformalBound, epsilon: float | None) -> dict[int, int] | None:
        if epsilon is None or not self._config.fence:
            return None
        return calibration.export(epsilon)

    def _elapsed_s(self, at_s: float) -> float:
        """Time since the last cycle; a stall or a clock step counts as one second at most."""
        last_s, self._last_s = self._last_s, at_s
        return 0.0 if last_s is None else min(1.0, max(0.0, at_s - last_s))

    def _error(self, view: VShort) -> float | None:
        """e_t: positive closes, negative opens, 0 holds; None: not measured, hold."""
        if view.running is None:
            return None
        if not view.running:
            return LIGHT_ERROR
        load, dead_band = view.tpot_utilisation, self._config.dead_band
        if load is None:
            return None
        off_band = load - min(self.band.high, max(self.band.low, load))
        ttft, tpot = self._excess(view.ttft_violation_rate), self._excess(view.tpot_at_risk)
        if off_band > dead_band:
            # A sought edge holds without misses, too: where they begin is what was sought.
            closes = tpot > ttft or (self.band.binding and not ttft)
            return off_band if closes else -(ttft - tpot)
        if ttft > 0:
            return min(off_band, -ttft)
        return off_band if off_band < -dead_band else 0.0

    def _excess(self, rate: float | None) -> float:
        return 0.0 if rate is None else max(0.0, rate - self._config.violation_band)

    def _regulate(self, error: float, view: VShort, seconds: float) -> None:
        self._inner(error, view, seconds)
        weight = min(1.0, seconds / self._config.averaging_s)
        self._mean_error += weight * (error - self._mean_error)
        self._outer(self._mean_error, view, seconds)

    def _inner(self, error: float, view: VShort, seconds: float) -> None:
        """P loop on B_token; while it opens and does not bind, it opens fast."""
        if error > 0:
            if view.step_tokens_p95 is not None:
                self.budget.track(view.step_tokens_p95)
            self.budget.scale(-self._config.budget_gain * min(1.0, error) * seconds)
        elif error < 0:
            free = (
                view.step_tokens_p95 is None or view.step_tokens_p95 < BINDING * self.budget.value
            )
            rate = OPEN_RATE if free else self._config.budget_gain * -error
            self.budget.scale(rate * seconds)

    def _outer(self, mean_error: float, view: VShort, seconds: float) -> None:
        """I loop on N_run, once the inner loop is at its end and the deviation persists."""
        running, band = view.running or 0, self._config.dead_band
        if self._overcommitted():
            self.n_run.track(running)
            self.n_run.scale(-self._config.n_run_gain * seconds)
        elif mean_error > band and self.budget.at_low:
            self.n_run.track(running)
            self.n_run.scale(-self._config.n_run_gain * min(1.0, mean_error) * seconds)
        elif mean_error < -band and self.budget.at_high:
            free = running < BINDING * self.n_run.value
            rate = OPEN_RATE if free else self._config.n_run_gain * -mean_error
            self.n_run.scale(rate * seconds)

    def _overcommitted(self) -> bool:
        """The strictest fence, or none at all, cannot stop the engine from thrashing."""
        at_end = self.risk.strictest or not self._config.fence
        return at_end and self._recomputing > THRASHING * self._config.recompute_band
