"""Request signals of V_short: latencies, violations and rates of the last seconds."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hmas.controllers.config import ViewConfig
from hmas.controllers.qos.ledger import Entry
from hmas.controllers.qos.windows import SortedWindow, SumWindow
from hmas.engine.events import Outcome, RequestFinished

TIGHT_SHARE: Final = 0.1
"""Which quantile of the TPOT targets counts as tight."""


class RequestSignals(NamedTuple):
    """None where nothing was measured."""

    ttft_p50_ms: float | None
    ttft_p95_ms: float | None
    ttft_p99_ms: float | None
    tpot_p50_ms: float | None
    tpot_p95_ms: float | None
    ttft_violation_rate: float | None
    tpot_violation_rate: float | None
    violation_rate: float | None
    samples: int
    arrivals_per_s: float
    completions_per_s: float
    goodput_per_s: float
    sheds_per_s: float
    demand_tokens_per_s: float

    def shown(self) -> dict[str, Any]:
        """The fields of V_short."""
        return {
            name: value for name, value in self._asdict().items() if name != "demand_tokens_per_s"
        }


def violation_rate(ttft_rate: float | None, later_rate: float | None) -> float | None:
    """nu out of its two parts: TTFT missed, or met and the rest missed.

    A TTFT miss is known at its deadline, a success only when the last token is out. Counting
    fates as they become known would show more misses than there are whenever the load rises
    or the queue is reordered, just when guards look; the two shares carry no such bias.
    """
    if ttft_rate is None:
        return later_rate
    return ttft_rate + (1 - ttft_rate) * (later_rate or 0.0)


def share(part: float, whole: float) -> float | None:
    """None where there is no whole; sums of floats may miss zero by a hair."""
    return min(1.0, max(0.0, part / whole)) if whole >= 0.5 else None


class RequestWindows:
    """Facts of the ledger over ``latency_window_s``; see ``Facts`` for the methods."""

    def __init__(self, config: ViewConfig) -> None:
        span_s = self._span_s = config.latency_window_s
        self._ttft_ms = SortedWindow(span_s)
        self._tpot_ms = SortedWindow(span_s)
        self._tpot_targets_ms = SortedWindow(limit=512)
        self._arrivals = SumWindow(span_s, 2)  # requests, predicted tokens
        self._ttft = SumWindow(span_s, 2)  # known, missed
        self._tpot = SumWindow(span_s, 2)
        self._later = SumWindow(span_s, 2)  # ended after a first token in time, not OK
        self._ends = SumWindow(span_s, 3)  # completed, within both targets, shed

    def arrived(self, at_s: float, entry: Entry) -> None:
        features = entry.features
        self._arrivals.add(at_s, 1, features.prompt_tokens + features.predicted_output_tokens)
        self._tpot_targets_ms.add(at_s, features.slo_tpot_ms)

    def ttft_missed(self, at_s: float, entry: Entry) -> None:
        self._ttft.add(at_s, 1, 1)

    def first_token(self, at_s: float, entry: Entry | None, ttft_ms: float) -> None:
        self._ttft_ms.add(at_s, ttft_ms)
        in_time = entry is not None and ttft_ms <= entry.features.slo_ttft_ms
        if in_time and entry is not None and not entry.ttft_missed:
            self._ttft.add(at_s, 1, 0)

    def finished(self, entry: Entry, event: RequestFinished) -> None:
        at_s = event.at_s
        if event.outcome is Outcome.ABORTED:
            return
        if event.outcome is Outcome.COMPLETED:
            self._ends.add(at_s, 1, event.slo_ok, 0)
            if event.output_tokens > 1:
                self._tpot_ms.add(at_s, event.tpot_s * 1000.0)
                self._tpot.add(at_s, 1, not event.tpot_ok)
        if not entry.ttft_missed:
            self._later.add(at_s, 1, not event.slo_ok)

    def shed(self, at_s: float, entry: Entry) -> None:
        self._ends.add(at_s, 0, 0, 1)
        if not entry.ttft_missed:
            self._ttft.add(at_s, 1, 1)

    def tight_tpot_ms(self) -> float | None:
        """The tight quantile of the TPOT targets of recent arrivals."""
        return self._tpot_targets_ms.quantile(TIGHT_SHARE)

    def tpot_at_risk(self, step_interval_ms: float) -> float | None:
        """Share of recent arrivals whose TPOT target is shorter than this."""
        return self._tpot_targets_ms.share_below(step_interval_ms)

    def signals(self, now_s: float, seen_s: float) -> RequestSignals:
        """``seen_s``: for how long events have been coming in."""
        self._ttft_ms.evict(now_s)
        self._tpot_ms.evict(now_s)
        arrivals, demand = self._arrivals.evict(now_s)
        ttft_known, ttft_missed = self._ttft.evict(now_s)
        tpot_known, tpot_missed = self._tpot.evict(now_s)
        ended, failed = self._later.evict(now_s)
        ttft_rate = share(ttft_missed, ttft_known)
        completed, good, sheds = self._ends.evict(now_s)
        span_s = min(self._span_s, max(seen_s, 1e-3))
        return RequestSignals(
            ttft_p50_ms=self._ttft_ms.quantile(0.5),
            ttft_p95_ms=self._ttft_ms.quantile(0.95),
            ttft_p99_ms=self._ttft_ms.quantile(0.99),
            tpot_p50_ms=self._tpot_ms.quantile(0.5),
            tpot_p95_ms=self._tpot_ms.quantile(0.95),
            ttft_violation_rate=ttft_rate,
            tpot_violation_rate=share(tpot_missed, tpot_known),
            violation_rate=violation_rate(ttft_rate, share(failed, ended)),
            samples=round(ttft_known),
            arrivals_per_s=arrivals / span_s,
            completions_per_s=completed / span_s,
            goodput_per_s=good / span_s,
            sheds_per_s=sheds / span_s,
            demand_tokens_per_s=demand / span_s,
        )
