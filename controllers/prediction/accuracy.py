"""How right predictions were of late: what was said beside what came out."""

from __future__ import annotations

from collections import deque
from typing import Final

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


class Pairs:
    """The newest pairs of what was predicted and what came out, in one unit.

    Means are read from running sums: whoever asks must not keep requests waiting.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self._pairs: deque[tuple[float, float]] = deque()
        self._errors = SlidingSample(window)
        self._predicted = 0.0
        self._actual = 0.0
        self._off = 0.0

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, predicted: float, actual: float) -> None:
        """``actual`` is above 0."""
        if len(self._pairs) == self._window:
            self._count(*self._pairs.popleft(), sign=-1)
        self._pairs.append((predicted, actual))
        self._count(predicted, actual, sign=1)
        self._errors.add(abs(predicted - actual) / actual)

    @property
    def median_error(self) -> float:
        return self._errors.quantile(0.5) or 0.0

    @property
    def mean_error(self) -> float:
        return self._off / len(self._pairs)

    @property
    def bias(self) -> float:
        return (self._predicted - self._actual) / len(self._pairs)

    @property
    def ratio(self) -> float:
        """Actual over predicted."""
        return self._actual / self._predicted

    def _count(self, predicted: float, actual: float, *, sign: int) -> None:
        self._predicted += sign * predicted
        self._actual += sign * actual
        self._off += sign * abs(predicted - actual)


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
            coverage=sum(self._hits) / len(self._hits) if self._hits else None,
        )

    def ttft(self) -> LatencyAccuracy | None:
        return _latency(self._ttft)

    def tpot(self) -> LatencyAccuracy | None:
        return _latency(self._tpot)


def _latency(pairs: Pairs) -> LatencyAccuracy | None:
    if not pairs:
        return None
    return LatencyAccuracy(requests=len(pairs), ratio=pairs.ratio, median_error=pairs.median_error)
