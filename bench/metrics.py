"""What a replay achieved: goodput, compliance, service gain, latency quantiles, over time.

Definitions (paper 4 and B.2). A request that did not finish counts as a failure everywhere:
every share has *all* requests in its denominator.

- TTFT: arrival to first output token. TPOT: mean gap of the tokens after the first, 0 for one
  token. E2E: arrival to last token.
- goodput rate (Eq. 9): share of requests within both SLOs; compliance: within one of them.
- ESG (Eq. 6): sum of ``(1·L_in + 2·L_out) · min(1, SLO_ttlt / TTLT)``, alpha 1, with
  ``TTLT = TTFT + L_out·TPOT`` and ``SLO_ttlt = SLO_ttft + L_out·SLO_tpot``.
- rates per second are over ``duration_s``: from 0 to the last finish, or to the end of the
  arrivals when that is later.
- quantiles are over completed requests (TPOT: those with two output tokens or more).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures

INPUT_TOKEN_WEIGHT = 1.0
OUTPUT_TOKEN_WEIGHT = 2.0
LATENCY_EXPONENT = 1.0
QUANTILES = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class RequestResult:
    """How one request went; times in seconds, ``finished`` false when it never completed."""

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    slo_ttft_ms: float
    slo_tpot_ms: float
    ttft_s: float = math.inf
    tpot_s: float = math.inf
    e2e_s: float = math.inf
    preemptions: int = 0
    finished: bool = True

    @property
    def ttft_ok(self) -> bool:
        return self.finished and self.ttft_s * 1000 <= self.slo_ttft_ms

    @property
    def tpot_ok(self) -> bool:
        return self.finished and self.tpot_s * 1000 <= self.slo_tpot_ms

    @property
    def slo_ok(self) -> bool:
        """OK(r) of the paper's Eq. 8."""
        return self.ttft_ok and self.tpot_ok

    @property
    def service_gain(self) -> float:
        """This request's term of Eq. 6; 0 when it did not finish."""
        if not self.finished:
            return 0.0
        value = INPUT_TOKEN_WEIGHT * self.prompt_tokens + OUTPUT_TOKEN_WEIGHT * self.output_tokens
        taken_ms = (self.ttft_s + self.output_tokens * self.tpot_s) * 1000
        allowed_ms = self.slo_ttft_ms + self.output_tokens * self.slo_tpot_ms
        if taken_ms <= allowed_ms:
            return value
        return value * math.pow(allowed_ms / taken_ms, LATENCY_EXPONENT)


def from_event(event: RequestFinished) -> RequestResult:
    """The result of a request that left the engine, in whichever way."""
    return RequestResult(
        arrival_s=event.features.arrival_s,
        prompt_tokens=event.prompt_tokens,
        output_tokens=event.output_tokens,
        slo_ttft_ms=event.features.slo_ttft_ms,
        slo_tpot_ms=event.features.slo_tpot_ms,
        ttft_s=event.ttft_s,
        tpot_s=event.tpot_s,
        e2e_s=event.at_s - event.features.arrival_s,
        preemptions=event.preemptions,
        finished=event.outcome is Outcome.COMPLETED,
    )


def unfinished(features: RequestFeatures) -> RequestResult:
    """The result of a request that was lost, shed, or still open when the replay ended."""
    return RequestResult(
        arrival_s=features.arrival_s,
        prompt_tokens=features.prompt_tokens,
        output_tokens=0,
        slo_ttft_ms=features.slo_ttft_ms,
        slo_tpot_ms=features.slo_tpot_ms,
        finished=False,
    )


@dataclass(frozen=True, slots=True)
class Window:
    """One slice of a run. Requests belong to the window they arrived in."""

    start_s: float
    requests: int
    goodput_rate: float
    ttft_compliance: float
    tpot_compliance: float
    esg_per_s: float
    ttft_p95_ms: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of a whole run; see the module's definitions."""

    requests: int
    completed: int
    duration_s: float
    goodput_rate: float
    ttft_compliance: float
    tpot_compliance: float
    esg_per_s: float
    goodput_rps: float
    throughput_rps: float
    output_tokens_per_s: float
    preemptions: int
    ttft_ms: dict[int, float]
    tpot_ms: dict[int, float]
    e2e_ms: dict[int, float]


def quantile(values: Sequence[float], percent: float) -> float:
    """Linear interpolation between order statistics; 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def summarize(results: Sequence[RequestResult], duration_s: float) -> Summary:
    """Figures over all ``results``, one per request of the workload."""
    done = [result for result in results if result.finished]
    return Summary(
        requests=len(results),
        completed=len(done),
        duration_s=duration_s,
        goodput_rate=_share(result.slo_ok for result in results),
        ttft_compliance=_share(result.ttft_ok for result in results),
        tpot_compliance=_share(result.tpot_ok for result in results),
        esg_per_s=_per_s(sum(result.service_gain for result in done), duration_s),
        goodput_rps=_per_s(sum(result.slo_ok for result in done), duration_s),
        throughput_rps=_per_s(len(done), duration_s),
        output_tokens_per_s=_per_s(sum(result.output_tokens for result in done), duration_s),
        preemptions=sum(result.preemptions for result in results),
        ttft_ms=_quantiles_ms([result.ttft_s for result in done]),
        tpot_ms=_quantiles_ms([result.tpot_s for result in done if result.output_tokens > 1]),
        e2e_ms=_quantiles_ms([result.e2e_s for result in done]),
    )


def windows(results: Sequence[RequestResult], width_s: float, duration_s: float) -> list[Window]:
    """The run in slices of ``width_s`` that cover ``[0, duration_s)``; empty ones included."""
    if width_s <= 0:
        raise ValueError(f"window width must be positive, not {width_s} s")
    count = max(1, math.ceil(duration_s / width_s))
    slices: list[list[RequestResult]] = [[] for _ in range(count)]
    for result in results:
        slices[min(count - 1, int(result.arrival_s / width_s))].append(result)
    return [_window(index * width_s, width_s, members) for index, members in enumerate(slices)]


def _window(start_s: float, width_s: float, members: list[RequestResult]) -> Window:
    summary = summarize(members, width_s)
    return Window(
        start_s=start_s,
        requests=summary.requests,
        goodput_rate=summary.goodput_rate,
        ttft_compliance=summary.ttft_compliance,
        tpot_compliance=summary.tpot_compliance,
        esg_per_s=summary.esg_per_s,
        ttft_p95_ms=summary.ttft_ms[95],
    )


def _share(flags: Iterable[bool]) -> float:
    values = list(flags)
    return sum(values) / len(values) if values else 0.0


def _per_s(amount: float, duration_s: float) -> float:
    return amount / duration_s if duration_s > 0 else 0.0


def _quantiles_ms(seconds: Sequence[float]) -> dict[int, float]:
    return {percent: quantile(seconds, percent) * 1000 for percent in QUANTILES}
