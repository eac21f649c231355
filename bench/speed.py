"""Time-compressed live runs: everything that has a unit of time, by one factor.

With speed X the engine computes X times faster than its profile, requests come X times as
often, and SLO targets are X times tighter; measured times are multiplied by X again. What does
not shrink (HTTP, the gateway, the control loops' periods) weighs X times as much, so the
figures are a lower bound of what real time gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from hmas.bench.live import LiveReport
from hmas.bench.metrics import RequestResult
from hmas.bench.slo import WorkloadRequest
from hmas.engine.features import RequestFeatures


def compressed(requests: Sequence[WorkloadRequest], speed: float) -> list[WorkloadRequest]:
    """The workload as it is sent. Raises :class:`ValueError` for a speed that cannot be."""
    if not (math.isfinite(speed) and speed > 0):
        raise ValueError(f"speed must be a positive number, not {speed}")
    return [replace(request, features=_faster(request, speed)) for request in requests]


def _faster(request: WorkloadRequest, speed: float) -> RequestFeatures:
    features = request.features
    return msgspec.structs.replace(
        features,
        arrival_s=features.arrival_s / speed,
        slo_ttft_ms=features.slo_ttft_ms / speed,
        slo_tpot_ms=features.slo_tpot_ms / speed,
    )


def stretched(report: LiveReport, speed: float) -> LiveReport:
    """What was measured, in the time of the profile's hardware."""
    return replace(
        report,
        results=tuple(_slower(result, speed) for result in report.results),
        duration_s=report.duration_s * speed,
        late_p99_s=report.late_p99_s * speed,
    )


def _slower(result: RequestResult, speed: float) -> RequestResult:
    return replace(
        result,
        arrival_s=result.arrival_s * speed,
        slo_ttft_ms=result.slo_ttft_ms * speed,
        slo_tpot_ms=result.slo_tpot_ms * speed,
        ttft_s=result.ttft_s * speed,
        tpot_s=result.tpot_s * speed,
        e2e_s=result.e2e_s * speed,
    )
