"""From options to annotated requests: the same workload for every system that is compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hmas.bench.arrivals import mix, window
from hmas.bench.generator import AzureLike, fitted, generate
from hmas.bench.lengths import LengthKnowledge, describe, known_lengths, mean_relative_error
from hmas.bench.slo import WorkloadRequest, annotate
from hmas.bench.traces import TraceRequest, read_trace

DEFAULT_RPS = 10.0
DEFAULT_DURATION_S = 60.0
FEWEST_GENERATED = 200


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """What to replay. Without ``traces`` an Azure-like workload is generated.

    ``rps`` None keeps the pace of the traces, ``duration_s`` None their length (a generated
    workload takes the defaults above).
    """

    traces: tuple[Path, ...] = ()
    rps: float | None = None
    duration_s: float | None = None
    lengths: LengthKnowledge = LengthKnowledge.PREDICTED
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in order of arrival, and how to name them in a report."""

    requests: tuple[WorkloadRequest, ...]
    source: str
    lengths: str
    length_error: float
    span_s: float

    @property
    def rps(self) -> float:
        return len(self.requests) / self.span_s if self.span_s > 0 else 0.0


def build_workload(options: WorkloadOptions) -> Workload:
    """Read or generate, cut and rescale, annotate; same options, same workload.

    Raises:
        TraceError: a trace that cannot be read.
        ValueError: a rate or duration that is not positive.
    """
    requests = _requests(options)
    known = known_lengths(requests, options.lengths, options.seed)
    return Workload(
        requests=tuple(annotate(requests, known, options.seed)),
        source=_source(options),
        lengths=describe(options.lengths),
        length_error=mean_relative_error(requests, known),
        span_s=_span_s(options, requests),
    )


def _requests(options: WorkloadOptions) -> list[TraceRequest]:
    if options.traces:
        wanted = _wanted_count(options)
        return window(
            mix([read_trace(path, wanted) for path in options.traces]),
            options.rps,
            options.duration_s,
        )
    rps = DEFAULT_RPS if options.rps is None else options.rps
    duration_s = DEFAULT_DURATION_S if options.duration_s is None else options.duration_s
    # A bursty process misses its mean rate over a short run: generate enough, cut as a trace.
    enough_s = max(duration_s, FEWEST_GENERATED / rps) if rps > 0 else duration_s
    generated = generate(AzureLike(rps=rps, duration_s=enough_s, seed=options.seed))
    return window(generated, rps, duration_s)


def _wanted_count(options: WorkloadOptions) -> int | None:
    """Rows that suffice from the start of each trace; None: all of them."""
    if options.rps is None or options.duration_s is None:
        return None
    product = options.rps * options.duration_s
    return math.ceil(product) + 2 if math.isfinite(product) and product > 0 else None


def _span_s(options: WorkloadOptions, requests: Sequence[TraceRequest]) -> float:
    if options.duration_s is not None:
        return options.duration_s
    return requests[-1].arrival_s if options.traces else DEFAULT_DURATION_S


def _source(options: WorkloadOptions) -> str:
    if options.traces:
        return " + ".join(path.name for path in options.traces)
    return f"generated, fitted from {fitted().source.split(' (')[0]}"
