"""How far the simulator is from reality: quantiles side by side, with the noise of reality."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from hmas.bench.fidelity_run import Timing
from hmas.bench.metrics import quantile

GOAL: Final = 0.05
LIMIT: Final = 0.10
PERCENTS: Final = (50, 95)
METRICS: Final = ("TTFT", "TPOT", "E2E")

Figures = Mapping[tuple[str, int], float]


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One figure in milliseconds. ``noise``: median difference of two identical real runs."""

    metric: str
    percent: int
    real_ms: float
    simulated_ms: float
    noise: float | None = None

    @property
    def error(self) -> float:
        """Relative to reality; above 0 when the simulator is too slow."""
        return self.simulated_ms / self.real_ms - 1

    @property
    def within_limit(self) -> bool:
        return abs(self.error) <= LIMIT


@dataclass(frozen=True, slots=True)
class Comparison:
    """One real engine against the simulator."""

    title: str
    detail: str
    rows: tuple[ErrorRow, ...]

    @property
    def worst(self) -> float:
        return max(abs(row.error) for row in self.rows)


def figures(timings: Iterable[Timing]) -> Figures:
    """Quantiles in milliseconds; TPOT of requests with two output tokens or more."""
    done = list(timings)
    values = {
        "TTFT": [timing.first_s for timing in done],
        "TPOT": [timing.tpot_s for timing in done if timing.output_tokens > 1],
        "E2E": [timing.last_s for timing in done],
    }
    return {
        (metric, percent): 1000 * quantile(values[metric], percent)
        for metric in METRICS
        for percent in PERCENTS
    }


def compare(real: Sequence[Figures], simulated: Figures) -> tuple[ErrorRow, ...]:
    """The median of identical real runs against one simulated run."""
    return tuple(
        ErrorRow(
            metric=metric,
            percent=percent,
            real_ms=statistics.median(run[metric, percent] for run in real),
            simulated_ms=simulated[metric, percent],
            noise=_noise([run[metric, percent] for run in real]),
        )
        for metric, percent in simulated
    )


def _noise(values: Sequence[float]) -> float | None:
    """Median relative difference between two of the runs; None with a single one."""
    pairs = [abs(a - b) / statistics.fmean((a, b)) for a, b in combinations(values, 2)]
    return statistics.median(pairs) if pairs else None


def render(comparison: Comparison) -> str:
    """The error table as text."""
    lines = [comparison.title, f"  {comparison.detail}"]
    lines.append(f"  {'':10}{'real ms':>12}{'simulated':>12}{'error':>9}{'real vs real':>14}")
    for row in comparison.rows:
        noise = "" if row.noise is None else f"{row.noise:.1%}"
        mark = "" if row.within_limit else "  above the limit"
        lines.append(
            f"  {row.metric:5}p{row.percent:<4}{row.real_ms:12.1f}{row.simulated_ms:12.1f}"
            f"{row.error:+9.1%}{noise:>14}{mark}"
        )
    return "\n".join(lines)
