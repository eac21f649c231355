"""What both systems are asked: Azure-like requests scaled to a small CPU engine.

Rules, so that nobody tunes them to a result:

- lengths are those of the fitted Azure generator divided by ``LENGTH_SCALE``, and so is vLLM's
  default token budget;
- SLOs are Table 6's pairs times one factor for TTFT and one for TPOT, so that the median
  targets are ``TTFT_SLACK`` and ``TPOT_SLACK`` times what stock vLLM needs unloaded;
- the overload is ``OVERLOAD`` times the requests per second that stock vLLM completes when all
  of a burst wait at once.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from hmas.bench.arrivals import window
from hmas.bench.generator import AzureLike, generate
from hmas.bench.lengths import LengthKnowledge, known_lengths
from hmas.bench.live import LiveReport
from hmas.bench.metrics import RequestResult
from hmas.bench.slo import WorkloadRequest, annotate

LENGTH_SCALE: Final = 8
TOKEN_BUDGET: Final = 2048 // LENGTH_SCALE
TTFT_SLACK: Final = 10.0
TPOT_SLACK: Final = 4.0
OVERLOAD: Final = 1.5
LONGEST_PROMPT: Final = 8000
LONGEST_OUTPUT: Final = 1600
SPARSE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class SloScale:
    """Factors on Table 6's targets."""

    ttft: float
    tpot: float


@dataclass(frozen=True, slots=True)
class Unloaded:
    """What stock vLLM needs for one request at a time, medians in milliseconds."""

    ttft_ms: float
    tpot_ms: float


def azure_scaled(
    rps: float, duration_s: float, seed: int, length_scale: int = LENGTH_SCALE
) -> list[WorkloadRequest]:
    """Requests with predicted lengths and Table 6's own SLOs; lengths over ``length_scale``."""
    trace = window(generate(AzureLike(rps=rps, duration_s=duration_s * 4, seed=seed)), rps, None)
    scaled = [
        replace(
            request,
            prompt_tokens=max(4, min(LONGEST_PROMPT, request.prompt_tokens) // length_scale),
            output_tokens=max(2, min(LONGEST_OUTPUT, request.output_tokens) // length_scale),
        )
        for request in window(trace, rps, duration_s)
    ]
    return annotate(scaled, known_lengths(scaled, LengthKnowledge.PREDICTED, seed), seed)


def arriving(requests: Sequence[WorkloadRequest], gap_s: float) -> list[WorkloadRequest]:
    """The same requests, one every ``gap_s``."""
    return [_with(r, arrival_s=number * gap_s) for number, r in enumerate(requests)]


def unloaded(report: LiveReport) -> Unloaded:
    """Medians of requests that came one at a time. Raises ValueError when none was served."""
    done = [result for result in report.results if result.finished]
    if not done:
        raise ValueError(f"stock vLLM served nothing: {report.errors}")
    return Unloaded(
        1000 * statistics.median(result.ttft_s for result in done),
        1000 * statistics.median(r.tpot_s for r in done if r.output_tokens > 1),
    )


def slo_scale(requests: Sequence[WorkloadRequest], alone: Unloaded) -> SloScale:
    """Factors that put the median targets at the stated multiples of the unloaded times."""
    ttft_ms = statistics.median(request.features.slo_ttft_ms for request in requests)
    tpot_ms = statistics.median(request.features.slo_tpot_ms for request in requests)
    return SloScale(TTFT_SLACK * alone.ttft_ms / ttft_ms, TPOT_SLACK * alone.tpot_ms / tpot_ms)


def with_slos(requests: Sequence[WorkloadRequest], scale: SloScale) -> list[WorkloadRequest]:
    return [
        _with(
            request,
            slo_ttft_ms=request.features.slo_ttft_ms * scale.ttft,
            slo_tpot_ms=request.features.slo_tpot_ms * scale.tpot,
        )
        for request in requests
    ]


def capacity_rps(results: Sequence[RequestResult]) -> float:
    """Completions per second of a burst, without its first and last tenth."""
    ends_s = sorted(result.arrival_s + result.e2e_s for result in results if result.finished)
    cut = len(ends_s) // 10
    inner = ends_s[cut : len(ends_s) - cut]
    if len(inner) < 2 or inner[-1] <= inner[0]:
        raise ValueError(f"{len(ends_s)} completed requests do not tell a capacity")
    return (len(inner) - 1) / (inner[-1] - inner[0])


def _with(request: WorkloadRequest, **changes: float) -> WorkloadRequest:
    return replace(request, features=msgspec.structs.replace(request.features, **changes))
