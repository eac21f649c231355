"""Engine signals of V_short: what the last steps looked like."""

from __future__ import annotations

from typing import NamedTuple

from hmas.controllers.config import ViewConfig
from hmas.controllers.qos.windows import SortedWindow, SumWindow
from hmas.engine.events import StepStats

MAX_GAP_FACTOR = 2.0
"""Between two steps of a busy engine passes at most this many times the step; more is idleness."""


class StepSignals(NamedTuple):
    """None where the engine was not measured."""

    busy_fraction: float | None = None
    token_fill: float | None = None
    step_tokens_p95: float | None = None
    step_interval_ms: float | None = None
    step_p50_ms: float | None = None
    step_p95_ms: float | None = None
    tokens_per_s: float | None = None
    preemptions_per_s: float | None = None


class StepWindows:
    """Sums and quantiles over ``state_window_s`` (steps) and ``latency_window_s`` (rates)."""

    def __init__(self, config: ViewConfig) -> None:
        self._config = config
        self._recent = SumWindow(config.state_window_s, 5)
        self._served = SumWindow(config.latency_window_s, 2)
        self._step_ms = SortedWindow(config.state_window_s, limit=1024)
        self._step_tokens = SortedWindow(config.state_window_s, limit=1024)
        self._first_at_s: float | None = None
        self.last: StepStats | None = None

    def observe(self, event: StepStats) -> None:
        at_s, steps = event.at_s, max(1, event.steps)
        tokens = event.prefill_tokens + event.decode_tokens
        interval_s = max(event.busy_s, min(event.span_s, MAX_GAP_FACTOR * event.busy_s))
        self._recent.add(
            at_s, steps, event.busy_s, interval_s, tokens, event.steps * event.token_budget
        )
        self._served.add(at_s, tokens, event.preemptions)
        if tokens:
            self._step_ms.add(at_s, event.busy_s * 1000.0 / steps)
            self._step_tokens.add(at_s, tokens / steps)
        self.last = event
        if self._first_at_s is None:
            self._first_at_s = at_s - event.span_s

    def idle(self) -> bool:
        """The engine said that it holds nothing."""
        return self.last is not None and not (self.last.running or self.last.waiting)

    def signals(self, now_s: float) -> StepSignals:
        """What the windows hold; rates are over the time observed so far."""
        steps, busy_s, interval_s, tokens, budget = self._recent.evict(now_s)
        served, preempted = self._served.evict(now_s)
        if self._first_at_s is None:
            return StepSignals()
        self._step_ms.evict(now_s)
        self._step_tokens.evict(now_s)
        seen_s = max(now_s - self._first_at_s, 1e-3)
        state_s = min(self._config.state_window_s, seen_s)
        rate_s = min(self._config.latency_window_s, seen_s)
        return StepSignals(
            busy_fraction=min(1.0, busy_s / state_s),
            token_fill=tokens / budget if budget else None,
            step_tokens_p95=self._step_tokens.quantile(0.95),
            step_interval_ms=interval_s * 1000.0 / steps if steps and tokens else None,
            step_p50_ms=self._step_ms.quantile(0.5),
            step_p95_ms=self._step_ms.quantile(0.95),
            tokens_per_s=served / rate_s,
            preemptions_per_s=preempted / rate_s,
        )
