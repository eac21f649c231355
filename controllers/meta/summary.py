"""The last V_longs condensed into one: what rules, prompt and records look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hmas.controllers.views import Drift, VLong


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Means weighted by the requests behind them; None where nothing was measured.

    ``unfair_windows`` counts the newest windows in a row below the fairness threshold;
    ``violation_trend`` is the newest window's violation rate minus the oldest's.
    """

    windows: int
    span_s: float
    arrivals: int
    rps: float
    samples: int
    violation_rate: float | None
    violation_trend: float | None
    ttft_violation_rate: float | None
    tpot_violation_rate: float | None
    goodput_rate: float | None
    ttft_p95_ms: float | None
    tpot_p95_ms: float | None
    work_variation: float | None
    hol_index: float | None
    fairness: float | None
    unfair_windows: int
    tenants: int
    unknown_share: float | None
    mismatch_mean: float | None
    mismatch_p95: float | None
    busy_fraction: float | None
    kv_used: float | None
    esg_per_s: float
    coverage: float | None
    drift: list[Drift]


def _mean(
    windows: Sequence[VLong],
    value: Callable[[VLong], float | None],
    weight: Callable[[VLong], float],
) -> float | None:
    pairs = [(v, weight(w)) for w in windows if (v := value(w)) is not None and weight(w) > 0]
    total = sum(weight for _, weight in pairs)
    return sum(v * weight for v, weight in pairs) / total if total else None


def _by_samples(window: VLong) -> float:
    return window.samples


def _by_arrivals(window: VLong) -> float:
    return window.arrivals


def _by_time(window: VLong) -> float:
    return window.duration_s


def _by_misses(window: VLong) -> float:
    return window.samples * (window.ttft_violation_rate or 0.0)


def _worst(values: list[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _unfair_in_a_row(windows: Sequence[VLong], threshold: float) -> int:
    count = 0
    for window in reversed(windows):
        if window.fairness is None or window.fairness >= threshold:
            break
        count += 1
    return count


def _trend(windows: Sequence[VLong]) -> float | None:
    rates = [w.violation_rate for w in windows if w.violation_rate is not None]
    return rates[-1] - rates[0] if len(rates) > 1 else None


def summarize(windows: Sequence[VLong], fairness_threshold: float) -> Summary:
    """Condense completed windows, oldest first; at least one."""
    span_s = sum(window.duration_s for window in windows)
    arrivals = sum(window.arrivals for window in windows)
    return Summary(
        windows=len(windows),
        span_s=span_s,
        arrivals=arrivals,
        rps=arrivals / span_s if span_s > 0 else 0.0,
        samples=sum(window.samples for window in windows),
        violation_rate=_mean(windows, lambda w: w.violation_rate, _by_samples),
        violation_trend=_trend(windows),
        ttft_violation_rate=_mean(windows, lambda w: w.ttft_violation_rate, _by_samples),
        tpot_violation_rate=_mean(windows, lambda w: w.tpot_violation_rate, _by_samples),
        goodput_rate=_mean(windows, lambda w: w.goodput_rate, _by_samples),
        ttft_p95_ms=_worst([w.ttft_p95_ms for w in windows]),
        tpot_p95_ms=_worst([w.tpot_p95_ms for w in windows]),
        work_variation=_mean(windows, lambda w: w.work_variation, _by_arrivals),
        hol_index=_mean(windows, lambda w: w.hol_index, _by_misses),
        fairness=_mean(windows, lambda w: w.fairness, _by_time),
        unfair_windows=_unfair_in_a_row(windows, fairness_threshold),
        tenants=len({tenant for window in windows for tenant in window.tenants}),
        unknown_share=_mean(windows, lambda w: w.unknown_share, _by_arrivals),
        mismatch_mean=_mean(windows, lambda w: w.mismatch_mean, _by_time),
        mismatch_p95=_worst([w.mismatch_p95 for w in windows]),
        busy_fraction=_mean(windows, lambda w: w.busy_fraction, _by_time),
        kv_used=_mean(windows, lambda w: w.kv_used, _by_time),
        esg_per_s=_mean(windows, lambda w: w.esg_per_s, _by_time) or 0.0,
        coverage=windows[-1].coverage,
        drift=sorted({drift for window in windows for drift in window.drift}),
    )
