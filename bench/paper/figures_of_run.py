"""The figures of one run, small enough to travel between processes.

On top of the replay's own summary (``bench.metrics``):

- mismatch M_rho (Eq. 7) per window of 10 s until the last arrival: arriving over served tokens,
  minus one, at least 0. A token of a prompt counts as served when its first output token comes,
  output tokens evenly between the first and the last; work that was computed twice counts once.
- goodput (norm.): the goodput rate. Effective goodput: requests within both SLOs per second.
- ESG windows count a request where it ends; phases count it where it arrives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from hmas.bench.metrics import RequestResult, quantile, windows
from hmas.bench.report import ReplayReport

WINDOW_S = 10.0
EPSILON_TOKENS_PER_S = 1.0

Floats = NDArray[np.float64]


class Phase(msgspec.Struct, frozen=True):
    """Requests that arrived in one part of the run."""

    goodput_rate: float
    ttft_p95_ms: float
    esg_per_s: float


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one system on one workload."""

    scenario: str
    system: str
    seed: int
    requests: int
    completed: int
    lost: int
    length_error: float
    source: str
    goodput_rate: float
    ttft_compliance: float
    tpot_compliance: float
    goodput_rps: float
    throughput_rps: float
    esg_per_s: float
    mismatch_mean: float
    mismatch_p95: float
    ttft_ms: dict[int, float]
    tpot_ms: dict[int, float]
    cv_ttft: float
    cv_esg: float
    esg_peak_over_mean: float
    esg_window_mean: float
    preemptions: int
    swaps: int
    phases: list[Phase]
    goodput_windows: list[float]
    esg_windows: list[float]
    topologies: list[str]


def figures(
    scenario: str, system: str, seed: int, report: ReplayReport, span_s: float
) -> RunFigures:
    """``span_s`` is the time of the arrivals; the run may last longer."""
    summary, results = report.summary, report.results
    mismatches = mismatch(results, span_s)
    esg = esg_windows(results, span_s)
    return RunFigures(
        scenario=scenario,
        system=system,
        seed=seed,
        requests=summary.requests,
        completed=summary.completed,
        lost=report.lost,
        length_error=report.length_error,
        source=report.trace,
        goodput_rate=summary.goodput_rate,
        ttft_compliance=summary.ttft_compliance,
        tpot_compliance=summary.tpot_compliance,
        goodput_rps=sum(result.slo_ok for result in results) / span_s,
        throughput_rps=summary.throughput_rps,
        esg_per_s=summary.esg_per_s,
        mismatch_mean=float(mismatches.mean()),
        mismatch_p95=quantile(list(mismatches), 95),
        ttft_ms=summary.ttft_ms,
        tpot_ms=summary.tpot_ms,
        cv_ttft=variation(np.asarray([r.ttft_s for r in results if r.finished])),
        cv_esg=variation(esg),
        esg_peak_over_mean=float(esg.max() / esg.mean()) if esg.mean() > 0 else 0.0,
        esg_window_mean=float(esg.mean()),
        preemptions=summary.preemptions,
        swaps=report.counts.swaps,
        phases=_phases(results, span_s),
        goodput_windows=[w.goodput_rate for w in windows(results, WINDOW_S, span_s)],
        esg_windows=[float(rate) for rate in esg],
        topologies=_topologies(report),
    )


def mismatch(results: Sequence[RequestResult], span_s: float) -> Floats:
    """M_rho of each window within the arrivals (Eq. 7)."""
    edges = _edges(span_s)
    arrivals = [result.arrival_s for result in results]
    demand = [result.prompt_tokens + result.output_tokens for result in results]
    arriving = np.histogram(arrivals, edges, weights=demand)[0]
    gap = arriving / (_served(results, edges) + EPSILON_TOKENS_PER_S * WINDOW_S) - 1
    missing: Floats = np.maximum(0.0, gap).astype(np.float64)
    return missing


def _served(results: Sequence[RequestResult], edges: Floats) -> Floats:
    done = [result for result in results if result.finished]
    first = np.asarray([result.arrival_s + result.ttft_s for result in done])
    last = np.asarray([result.arrival_s + result.e2e_s for result in done])
    prompts: Floats = np.histogram(first, edges, weights=[r.prompt_tokens for r in done])[0]
    outputs = np.asarray([result.output_tokens for result in done], dtype=float)
    length_s = np.maximum(last - first, 1e-9)
    before = [
        float((outputs * np.clip((edge - first) / length_s, 0.0, 1.0)).sum()) for edge in edges
    ]
    served: Floats = prompts + np.diff(before)
    return served


def esg_windows(results: Sequence[RequestResult], span_s: float) -> Floats:
    """Service gain per second of each window, by the time of completion."""
    edges = _edges(span_s)
    done = [result for result in results if result.finished]
    ends = [result.arrival_s + result.e2e_s for result in done]
    gains = np.histogram(ends, edges, weights=[result.service_gain for result in done])[0]
    rates: Floats = gains / WINDOW_S
    return rates


def variation(values: Floats) -> float:
    """Coefficient of variation, 0 without values."""
    return float(values.std() / values.mean()) if len(values) and values.mean() > 0 else 0.0


def _edges(span_s: float) -> Floats:
    edges: Floats = np.arange(math.ceil(span_s / WINDOW_S) + 1, dtype=np.float64) * WINDOW_S
    return edges


def _phases(results: Sequence[RequestResult], span_s: float) -> list[Phase]:
    parts = windows(results, span_s / 3, span_s)
    return [Phase(part.goodput_rate, part.ttft_p95_ms, part.esg_per_s) for part in parts]


def _topologies(report: ReplayReport) -> list[str]:
    """What ordered the queue, one after the other, as ``12 s edf``."""
    return [
        f"{switch.at_s:.0f} s {'bypass' if switch.bypass else switch.topology}"
        for switch in report.switches
    ]
