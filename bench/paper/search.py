"""The load at which stock vLLM shows a stated TTFT compliance, found on stock alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

from hmas.bench.paper.systems import STOCK_VLLM
from hmas.bench.replay import replay
from hmas.bench.scenarios.base import Scenario

RATE_STEP = 0.25


def stock_compliance(scenario: Scenario, seeds: int, data: Path | None) -> float:
    """Median TTFT compliance of stock vLLM."""
    config = STOCK_VLLM.replay_config(scenario.profile)
    runs = [replay(scenario.workload(seed, data), config) for seed in range(seeds)]
    return median(run.summary.ttft_compliance for run in runs)


def find_rate(
    scenario_at: Callable[[float], Scenario],
    compliance: float,
    bounds_rps: tuple[float, float],
    *,
    seeds: int,
    data: Path | None,
) -> float:
    """The rate whose stock compliance comes closest to ``compliance``, to a quarter request/s.

    Bisects: compliance falls as the rate rises. Nothing but stock vLLM is run.
    """
    low, high = (round(rps / RATE_STEP) for rps in bounds_rps)
    seen: dict[int, float] = {}

    def at(step: int) -> float:
        if step not in seen:
            seen[step] = stock_compliance(scenario_at(step * RATE_STEP), seeds, data)
        return seen[step]

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) > compliance else (low, middle)
    return min((low, high), key=lambda step: abs(at(step) - compliance)) * RATE_STEP
