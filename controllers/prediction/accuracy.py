"""How right predictions were of late: what was said beside what came out."""

from __future__ import annotations

from collections import deque
from statistics import fmean
from typing import Final, NamedTuple

import msgspec

from hmas.controllers.prediction.base import Prediction
from hmas.controllers.prediction.sliding import SlidingSample
from hmas.engine.events import RequestFinished

WINDOW: Final = 1000
"""Newest requests that count."""


class LengthAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Of output lengths over the newest ``requests``.

    Attributes:
        mae_tokens: mean absolute error.
        bias_tokens: mean of predicted minus actual: above 0 too much is predicted.
        median_error: median of |predicted - actual| / actual.
        coverage: share of answers within the bound that they were given; None: none had one.
    """

    requests: int
    mae_tokens: float
    bias_tokens: float
    median_error: float
    coverage: float | None


class LatencyAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Of TTFT or TPOT over the newest ``requests`` that had a prediction.

    Attributes:
        ratio: sum of actual over sum of predicted: above 1 it was slower than said.
        median_error: median of |predicted - actual| / actual.
    """

    requests: int
    ratio: float
    median_error: float


class _Pair(NamedTuple):
    predicted: float
    actual: float


class Pairs:
    """The newest pairs of what was predicted and what came out, in one unit."""

    def __init__(self, window: int = WINDOW) -> None:
        self._pairs: deque[_Pair] = deque(maxlen=window)
        self._errors = SlidingSample(window)

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, predicted: float, actual: float) -> None:
        """``actual`` is above 0."""
        self._pairs.append(_Pair(predicted, actual))
        self._errors.add(abs(predicted - actual) / actual)

    @property
    def median_error(self) -> float:
        return self._errors.quantile(0.5) or 0.0

    @property
    def mean_error(self) -> float:
        return fmean(abs(predicted - actual) for predicted, actual in self._pairs)

    @property
    def bias(self) -> float:
        return fmean(predicted - actual for predicted, actual in self._pairs)

    @property
    def ratio(self) -> float:
        """Actual over predicted."""
        predicted = sum(pair.predicted for pair in self._pairs)
        return sum(pair.actual for pair in self._pairs) / predicted


class LiveAccuracy:
    """Fed with each finished request, asked now and then; lengths are whole, latencies in ms."""

    def __init__(self, window: int = WINDOW) -> None:
        self._lengths = Pairs(window)
        self._hits: deque[bool] = deque(maxlen=window)
        self._ttft = Pairs(window)
        self._tpot = Pairs(window)

    def length(self, prediction: Prediction, finished: RequestFinished) -> None:
        """A length that the engine counted."""
        if finished.output_tokens < 1:
            return
        self._lengths.add(prediction.output_tokens, finished.output_tokens)
        if prediction.upper_tokens is not None:
            self._hits.append(finished.output_tokens <= prediction.upper_tokens)

    def latency(self, prediction: Prediction, finished: RequestFinished) -> None:
        """Latencies that were seen; a prediction of 0 was none."""
        if prediction.ttft_ms > 0 and finished.ttft_s > 0:
            self._ttft.add(prediction.ttft_ms, finished.ttft_s * 1000)
        if prediction.tpot_ms > 0 and finished.tpot_s > 0:
            self._tpot.add(prediction.tpot_ms, finished.tpot_s * 1000)

    def lengths(self) -> LengthAccuracy | None:
        """None before the first one."""
        pairs = self._lengths
        if not pairs:
            return None
        return LengthAccuracy(
            requests=len(pairs),
            mae_tokens=pairs.mean_error,
            bias_tokens=pairs.bias,
            median_error=pairs.median_error,
            coverage=fmean(self._hits) if self._hits else None,
        )

    def ttft(self) -> LatencyAccuracy | None:
        return _latency(self._ttft)

    def tpot(self) -> LatencyAccuracy | None:
        return _latency(self._tpot)


def _latency(pairs: Pairs) -> LatencyAccuracy | None:
    if not pairs:
        return None
    return LatencyAccuracy(requests=len(pairs), ratio=pairs.ratio, median_error=pairs.median_error)
