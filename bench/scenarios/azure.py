"""Replays of the Azure traces: 2023 by its own arrivals, 2024 by its weekly rate curve.

The published 2023 traces hold one hour of two services, conversation and code. Seed 0 replays
them from the start; every further seed starts somewhere else, golden-ratio steps apart, so that
five seeds are five pieces of real traffic and not one piece with five annotations. The 2024
trace is published as statistics: its week of arrival rates is squeezed into the duration, and
a Gamma renewal process (shape 0.19) makes the bursts.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from hmas.bench.arrivals import mix, period_s, window
from hmas.bench.generator import AzureLike, arrival_times, fitted, generate, sample_tokens
from hmas.bench.scenarios.base import FALLBACK_NOTE, Ask, Made
from hmas.bench.traces import TraceRequest, read_trace

TRACES = ("AzureLLMInferenceTrace_conv.csv", "AzureLLMInferenceTrace_code.csv")
WEEK_RATES = "azure2024_conv_rps_digitised.csv"
GOLDEN = 0.6180339887498949
WEEK_DAYS = 7


def replayed(rps: float) -> Callable[[Ask], Made]:
    """Conversation and code of 2023 as they came, rescaled to the mean rate ``rps``."""

    def make(ask: Ask) -> Made:
        if ask.data is None or not (ask.data / "azure" / TRACES[0]).exists():
            likeness = AzureLike(rps=rps, duration_s=ask.duration_s, seed=ask.seed)
            return Made(generate(likeness), f"Azure-like, {FALLBACK_NOTE}")
        trace = rotated(mixed(ask.data / "azure"), ask.seed)
        return Made(window(trace, rps, ask.duration_s), "Azure 2023, conv + code")

    return make


@cache
def mixed(folder: Path) -> tuple[TraceRequest, ...]:
    return tuple(mix([read_trace(folder / name) for name in TRACES]))


def rotated(trace: Sequence[TraceRequest], seed: int) -> list[TraceRequest]:
    """The trace from another starting point on; what came before follows at its end."""
    start = int(seed * GOLDEN % 1.0 * len(trace))
    if not start:
        return list(trace)
    from_s, turn_s = trace[start].arrival_s, period_s(trace)
    later = [replace(r, arrival_s=r.arrival_s - from_s) for r in trace[start:]]
    earlier = [replace(r, arrival_s=r.arrival_s - from_s + turn_s) for r in trace[:start]]
    return later + earlier


def week(rps: float) -> Callable[[Ask], Made]:
    """Conversation of 2024: seven days of rates in the duration, bursts on top."""

    def make(ask: Ask) -> Made:
        rates, source = week_rates(ask.data)
        random = np.random.default_rng([ask.seed, 3])
        service = fitted().services["conv"]
        times = arrival_times(rates, rps, ask.duration_s, fitted().arrival_shape, random)
        prompts = sample_tokens(service.prompt_tokens, len(times), random)
        outputs = sample_tokens(service.output_tokens, len(times), random)
        requests = [
            TraceRequest(float(at_s), int(prompt), int(output), "azure-conv")
            for at_s, prompt, output in zip(times, prompts, outputs, strict=True)
        ]
        return Made(requests, source)

    return make


def week_rates(data: Path | None) -> tuple[list[float], str]:
    """The digitised week, or seven times the fitted weekday."""
    path = None if data is None else data / "azure" / WEEK_RATES
    if path is None or not path.exists():
        day = fitted().services["conv"].day_profile
        return day * WEEK_DAYS, f"Azure 2024 week, {FALLBACK_NOTE}"
    with path.open(encoding="utf-8", newline="") as file:
        rates = [float(row["rps"]) for row in csv.DictReader(file)]
    return rates, "Azure 2024 week, digitised conv rate"
