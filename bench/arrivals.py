"""What part of which traces is replayed, and how fast: mix, loop, cut and rescale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from heapq import merge

from hmas.bench.traces import TraceRequest


def mix(traces: Sequence[Sequence[TraceRequest]]) -> list[TraceRequest]:
    """Traces laid over each other, in order of arrival; each starts at 0 s."""
    return list(merge(*traces, key=lambda request: request.arrival_s))


def window(
    requests: Sequence[TraceRequest], rps: float | None, duration_s: float | None
) -> list[TraceRequest]:
    """The replayed window, within ``[0, duration_s)``.

    With ``rps``, exactly ``rps · duration_s`` requests are taken from the start and their times
    are scaled by one factor, so that the window has that mean rate and keeps the trace's
    burstiness. Without it the trace's own pace stays. A trace that is too short starts again
    at its end, one mean gap later. Without ``duration_s`` the trace runs once.

    Raises:
        ValueError: no requests, or a rate or duration that is not positive.
    """
    if not requests:
        raise ValueError("nothing to replay: the trace is empty")
    require_positive("rps", rps)
    require_positive("duration", duration_s)
    if rps is None:
        return _cut(requests, duration_s)
    count = len(requests) if duration_s is None else max(1, round(rps * duration_s))
    span_s = count / rps if duration_s is None else duration_s
    taken = _looped(requests, count + 1)
    end_s = taken[-1].arrival_s
    factor = span_s / end_s if end_s > 0 else 0.0
    return [replace(request, arrival_s=request.arrival_s * factor) for request in taken[:-1]]


def _cut(requests: Sequence[TraceRequest], duration_s: float | None) -> list[TraceRequest]:
    if duration_s is None:
        return list(requests)
    turns = math.ceil(duration_s / period_s(requests))
    looped = _looped(requests, turns * len(requests))
    return [request for request in looped if request.arrival_s < duration_s]


def period_s(requests: Sequence[TraceRequest]) -> float:
    """Seconds after which a trace repeats: its span and one mean gap, never zero."""
    span_s = requests[-1].arrival_s
    gaps = len(requests) - 1
    return span_s + (span_s / gaps if gaps and span_s > 0 else 1.0)


def _looped(requests: Sequence[TraceRequest], count: int) -> list[TraceRequest]:
    turn_s = period_s(requests)
    looped: list[TraceRequest] = []
    for index in range(count):
        turn, position = divmod(index, len(requests))
        request = requests[position]
        looped.append(replace(request, arrival_s=request.arrival_s + turn * turn_s))
    return looped


def require_positive(name: str, value: float | None) -> None:
    """Raises :class:`ValueError` unless ``value`` is None or a positive finite number."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, not {value}")
