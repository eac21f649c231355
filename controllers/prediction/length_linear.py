"""A line through a few numbers of the request, fitted on line to each kind of traffic."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

import numpy as np

from hmas.controllers.prediction.length_features import NUMBERS

MAX_GROUPS: Final = 1024
FORGETTING: Final = 0.9995
TRUST: Final = 0.05
"""How far the first requests may move a coefficient from its start."""
MOST_VARIANCE: Final = 10.0
MOST_ERROR: Final = 1.0
"""In log(1 + tokens): a larger error teaches no more than this."""
CHOSEN: Final = ("prompt_tokens", "numbers", "words", "lines", "is_question", "turns")
_PLACES: Final = tuple(NUMBERS.index(name) for name in CHOSEN)
_SIZE: Final = len(CHOSEN) + 2


class _Fit:
    """Recursive least squares: coefficients and their covariance.

    ``known`` are the coefficients once more, as what a prediction is quickest with.
    """

    __slots__ = ("coefficients", "covariance", "known")

    def __init__(self) -> None:
        self.coefficients = np.zeros(_SIZE)
        self.coefficients[1] = 1.0
        self.known: list[float] = self.coefficients.tolist()
        self.covariance = np.eye(_SIZE) * TRUST


class OwnNumbers:
    """Begins as the model's own median and bends it to what a kind of traffic turns out to be."""

    def __init__(self, max_groups: int = MAX_GROUPS) -> None:
        self._fits: OrderedDict[Hashable, _Fit] = OrderedDict()
        self._max_groups = max_groups

    def row(self, numbers: list[float], median: float) -> list[float]:
        """One, the model's median, and the chosen numbers."""
        return [1.0, median, *map(numbers.__getitem__, _PLACES)]

    def predict(self, group: Hashable, row: list[float]) -> float:
        """log(1 + tokens); the model's median for traffic not seen before."""
        fit = self._fits.get(group)
        return row[1] if fit is None else sum(map(float.__mul__, fit.known, row))

    def learn(self, group: Hashable, numbers: list[float], log_truth: float) -> None:
        row = np.array(numbers)
        fit = self._fits.pop(group, None)
        if fit is None:
            fit = _Fit()
            if len(self._fits) >= self._max_groups:
                self._fits.popitem(last=False)
        self._fits[group] = fit
        error = log_truth - float(fit.coefficients @ row)
        spread = fit.covariance @ row
        gain = spread / (FORGETTING + float(row @ spread))
        fit.coefficients += gain * max(-MOST_ERROR, min(MOST_ERROR, error))
        fit.known = fit.coefficients.tolist()
        covariance = (fit.covariance - np.outer(gain, spread)) / FORGETTING
        if covariance.trace() < MOST_VARIANCE:
            fit.covariance = covariance
