"""How far predicted lengths are from true ones, lengths in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVEL: Final = 0.9
MIN_BUCKET_ROWS: Final = 200
"""With fewer, the coverage of a bucket says little: two points are less than its own noise."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Predictions of one run beside the truth, request by request, in order.

    ``upper`` is NaN where no bound was known yet; ``bucket`` the prompt-length bucket.
    """

    truth: Floats
    predicted: Floats
    upper: Floats
    bucket: NDArray[np.int64]

    def after(self, first: int, count: int | None = None) -> Outcomes:
        end = None if count is None else first + count
        window = slice(first, end)
        return Outcomes(
            self.truth[window], self.predicted[window], self.upper[window], self.bucket[window]
        )


def outcomes(
    truth: Sequence[float],
    predicted: Sequence[float],
    upper: Sequence[float | None],
    bucket: Sequence[int],
) -> Outcomes:
    return Outcomes(
        np.array(truth, dtype=float),
        np.array(predicted, dtype=float),
        np.array([np.nan if one is None else one for one in upper], dtype=float),
        np.array(bucket, dtype=np.int64),
    )


def mean_absolute_error(truth: Floats, predicted: Floats) -> float:
    return float(np.abs(truth - predicted).mean())


def median_relative_error(truth: Floats, predicted: Floats) -> float:
    """Median of |predicted - true| / true."""
    return float(np.median(np.abs(truth - predicted) / np.maximum(1, truth)))


def r2_log(truth: Floats, predicted: Floats) -> float | None:
    """R2 of log(1 + tokens); None where all true lengths are equal."""
    log_truth, log_predicted = np.log1p(truth), np.log1p(np.maximum(0, predicted))
    total = float(((log_truth - log_truth.mean()) ** 2).sum())
    if total == 0:
        return None
    return 1 - float(((log_truth - log_predicted) ** 2).sum()) / total


def kendall_tau(truth: Floats, predicted: Floats) -> float | None:
    """Tau-b: how well predictions rank; None where either side is constant."""
    from scipy.stats import kendalltau  # type: ignore[import-untyped]

    if len(np.unique(truth)) < 2 or len(np.unique(predicted)) < 2:
        return None
    return float(kendalltau(truth, predicted).statistic)


def pinball(truth: Floats, upper: Floats, level: float = LEVEL) -> float | None:
    """Mean pinball loss of the bound as a quantile, where a bound was known; in tokens."""
    known = ~np.isnan(upper)
    if not known.any():
        return None
    above = truth[known] - upper[known]
    return float(np.maximum(level * above, (level - 1) * above).mean())


def coverage(found: Outcomes) -> float | None:
    """Share of requests within their bound, among those that had one."""
    known = ~np.isnan(found.upper)
    return float((found.truth[known] <= found.upper[known]).mean()) if known.any() else None


def coverage_by_bucket(found: Outcomes) -> dict[int, tuple[int, float]]:
    """Rows and coverage of each bucket with at least ``MIN_BUCKET_ROWS`` bounds."""
    by_bucket = {}
    for bucket in np.unique(found.bucket):
        chosen = (found.bucket == bucket) & ~np.isnan(found.upper)
        if chosen.sum() >= MIN_BUCKET_ROWS:
            within = found.truth[chosen] <= found.upper[chosen]
            by_bucket[int(bucket)] = (int(chosen.sum()), float(within.mean()))
    return by_bucket
