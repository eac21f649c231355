"""Step-time model fitted online to what the engine reports (feed-forward part of Statera).

Least squares on the *relative* error over an exponentially forgotten past, coefficients not
negative, drawn to the prior profile while data are few (ridge). Reports come merged over
several steps: a linear model holds for the sums as it does for each step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from hmas.controllers.config import StepFitConfig
from hmas.engine.directive import StepModel
from hmas.engine.events import StepStats

COEFFICIENTS: Final = 4
MIN_PREFILLS: Final = 5
"""Reports with prefill before the price of a prompt token is believed."""

ERROR_MEMORY: Final = 0.03
MAX_ERROR: Final = 2.0
"""One report counts as at most this wrong."""

OUTLIER: Final = 0.5
"""Relative errors beyond this pull with constant force (Huber)."""

CHANGE: Final = 0.05
"""Relative change of the typical step below which the published model stays as it is."""

REGAIN: Final = 0.8
"""A withdrawn model returns when its error is below this share of the limit."""

NUMERIC_RIDGE: Final = 1e-3
MIN_BUSY_S: Final = 1e-6
MAX_MERGED_WEIGHT: Final = 16.0

Vector = list[float]


class StepFit:
    """``observe`` each StepStats; ``model(now_s)`` is None until it can be trusted.

    A ``proven`` prior (fitted to this engine before) is trusted until data speak.
    """

    def __init__(
        self, config: StepFitConfig, prior: StepModel | None = None, *, proven: bool = False
    ) -> None:
        self._config = config
        self._prior = None if prior is None else _vector(prior)
        self._quadratic_ms = 0.0 if prior is None else prior.prefill_quadratic_ms
        self._gram = [[0.0] * COEFFICIENTS for _ in range(COEFFICIENTS)]
        self._moment = [0.0] * COEFFICIENTS
        self._typical = [0.0] * COEFFICIENTS
        self._weight = 0.0
        self._candidate: Vector | None = None
        self._published = prior if proven else None
        self._trusted = False
        self._next_fit_s = 0.0
        self._error = MAX_ERROR
        self._checked = 0
        self.observations = 0
        self.prefills = 0

    @property
    def relative_error(self) -> float | None:
        """Mean |predicted - measured| / measured of recent reports, predicted beforehand."""
        return self._error if self._candidate is not None else None

    @property
    def published(self) -> StepModel | None:
        """The newest model that was trusted."""
        return self._published

    def observe(self, stats: StepStats) -> None:
        """One report; those without work are ignored."""
        steps = max(1, stats.steps)
        target_ms = stats.busy_s * 1000.0
        target_ms -= self._quadratic_ms * stats.prefill_tokens**2 / steps
        if stats.busy_s < MIN_BUSY_S or not stats.sequences or target_ms <= 0:
            return
        row = [float(steps), stats.prefill_tokens, stats.context_tokens, stats.sequences]
        weight = min(float(steps), MAX_MERGED_WEIGHT) * self._check(row, target_ms)
        self._absorb(row, target_ms, weight)
        self.observations += 1
        self.prefills += stats.prefill_tokens > 0

    def model(self, now_s: float) -> StepModel | None:
        """The published model; refitted at most every ``refit_every_s``."""
        if now_s >= self._next_fit_s and self.observations:
            self._next_fit_s = now_s + self._config.refit_every_s
            self._refit()
        return self._published

    def _check(self, row: Sequence[float], target_ms: float) -> float:
        """Track the error of the last fit on this new report; its weight as an outlier."""
        if self._candidate is None:
            return 1.0
        predicted = _dot(self._candidate, row)
        error = abs(predicted - target_ms) / target_ms
        self._checked += 1
        share = max(ERROR_MEMORY, 1.0 / self._checked)
        self._error += share * (min(error, MAX_ERROR) - self._error)
        return 1.0 if error <= OUTLIER else OUTLIER / error

    def _absorb(self, row: Sequence[float], target_ms: float, weight: float) -> None:
        keep = max(0.0, 1.0 - weight / self._config.memory_steps)
        scaled = [value / target_ms for value in row]
        for i, value in enumerate(scaled):
            gram = self._gram[i]
            for j, other in enumerate(scaled):
                gram[j] = keep * gram[j] + weight * value * other
            self._moment[i] = keep * self._moment[i] + weight * value
            typical = row[i] / row[0]
            self._typical[i] = keep * self._typical[i] + (1 - keep) * typical
        self._weight = keep * self._weight + weight

    def _refit(self) -> None:
        self._candidate = self._solve()
        if self.observations < self._config.min_observations:
            return
        self._trusted = self._trustworthy()
        if not self._trusted:
            self._published = None
        elif self._published is None or self._moved(_vector(self._published)):
            self._published = self._rounded(self._candidate)

    def _trustworthy(self) -> bool:
        limit = self._config.max_error * (1.0 if self._trusted else REGAIN)
        return self.prefills >= MIN_PREFILLS and self._error <= limit

    def _solve(self) -> Vector:
        """Ridge toward the prior; the most negative coefficient is dropped until none is."""
        gram, moment = self._regularised()
        scale = [math.sqrt(gram[i][i]) for i in range(COEFFICIENTS)]
        active = [i for i in range(COEFFICIENTS) if scale[i] > 0]
        while active:
            matrix = [[gram[i][j] / (scale[i] * scale[j]) for j in active] for i in active]
            part = _solve(matrix, [moment[i] / scale[i] for i in active])
            worst = min(range(len(active)), key=part.__getitem__)
            if part[worst] >= 0:
                break
            del active[worst]
        solution = [0.0] * COEFFICIENTS
        for position, i in enumerate(active):
            solution[i] = part[position] / scale[i]
        return solution

    def _regularised(self) -> tuple[list[Vector], Vector]:
        gram, moment = [list(row) for row in self._gram], list(self._moment)
        ridge = NUMERIC_RIDGE if self._prior is None else self._config.ridge
        for i in range(COEFFICIENTS):
            pull = ridge * gram[i][i] / max(self._weight, 1e-9)
            gram[i][i] += pull
            if self._prior is not None:
                moment[i] += pull * self._prior[i]
        return gram, moment

    def _moved(self, published: Vector) -> bool:
        assert self._candidate is not None
        pairs = zip(self._candidate, published, self._typical, strict=True)
        change = sum(abs(new - old) * typical for new, old, typical in pairs)
        return change > CHANGE * max(_dot(published, self._typical), 1e-9)

    def _rounded(self, solution: Vector) -> StepModel:
        base, prefill, context, sequence = (float(f"{value:.5g}") for value in solution)
        return StepModel(
            base_ms=base,
            prefill_ms=prefill,
            context_ms=context,
            sequence_ms=sequence,
            prefill_quadratic_ms=self._quadratic_ms,
        )


def _vector(model: StepModel) -> Vector:
    return [model.base_ms, model.prefill_ms, model.context_ms, model.sequence_ms]


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _solve(matrix: list[Vector], right: Vector) -> Vector:
    """Gaussian elimination with pivoting; a vanishing pivot makes its unknown 0."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) < 1e-12:
            continue
        for r in range(i + 1, size):
            factor = rows[r][i] / rows[i][i]
            for c in range(i, size + 1):
                rows[r][c] -= factor * rows[i][c]
    solution = [0.0] * size
    for i in reversed(range(size)):
        if abs(rows[i][i]) < 1e-12:
            continue
        known = sum(rows[i][j] * solution[j] for j in range(i + 1, size))
        solution[i] = (rows[i][size] - known) / rows[i][i]
    return solution
