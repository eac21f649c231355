"""Several tenants, each with its own rate, burstiness and lengths (ServeGen's production clients).

A time-compressed weekday: every tenant's rate curve is squeezed into the duration, its gaps are
a Gamma renewal process with the client's own coefficient of variation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hmas.bench.arrivals import mix
from hmas.bench.generator import arrival_times, sample_tokens
from hmas.bench.scenarios.base import Ask, Made
from hmas.bench.scenarios.statistics import TenantStatistics, statistics
from hmas.bench.traces import TraceRequest

LARGEST_CV = 8.0
"""Beyond it a compressed day would hold one burst and nothing else."""


def tenants(rps: float) -> Callable[[Ask], Made]:
    """All fitted clients at the total mean rate ``rps``, with their published shares."""

    def make(ask: Ask) -> Made:
        pool = statistics().servegen
        total_rps = sum(client.mean_rps for client in pool.tenants)
        random = np.random.default_rng([ask.seed, 6]).spawn(len(pool.tenants))
        streams = [
            _stream(client, rps * client.mean_rps / total_rps, ask.duration_s, own)
            for client, own in zip(pool.tenants, random, strict=True)
        ]
        return Made(mix(streams), "ServeGen clients, fitted statistics", by_source=True)

    return make


def _stream(
    client: TenantStatistics, rps: float, duration_s: float, random: np.random.Generator
) -> list[TraceRequest]:
    shape = 1.0 / min(client.cv, LARGEST_CV) ** 2
    times = arrival_times(client.day_profile, rps, duration_s, shape, random)
    prompts = sample_tokens(client.prompt_tokens, len(times), random)
    outputs = sample_tokens(client.output_tokens, len(times), random)
    return [
        TraceRequest(float(at_s), int(prompt), int(output), f"client-{client.client:03d}")
        for at_s, prompt, output in zip(times, prompts, outputs, strict=True)
    ]
