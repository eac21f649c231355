"""What a length prediction has to beat: a line through the prompt length, and task means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from hmas.bench.corpus_lengths.sample import Sample
from hmas.engine.features import TaskType


class Baseline(Protocol):
    """Learns from finished requests one by one, as the predictor itself does."""

    def predict(self, sample: Sample) -> float: ...

    def learn(self, sample: Sample) -> None: ...


class PromptLengthRegression:
    """Least squares of output tokens on prompt tokens."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self._count = 0
        self._x = self._y = self._xx = self._xy = 0.0
        for sample in samples:
            self.learn(sample)

    def learn(self, sample: Sample) -> None:
        x, y = float(sample.prompt_tokens), float(sample.output_tokens)
        self._count += 1
        self._x += x
        self._y += y
        self._xx += x * x
        self._xy += x * y

    def predict(self, sample: Sample) -> float:
        if not self._count:
            return 0.0
        mean_x, mean_y = self._x / self._count, self._y / self._count
        variance = self._xx / self._count - mean_x**2
        if variance <= 1e-9 * max(1.0, mean_x**2):
            return mean_y
        slope = (self._xy / self._count - mean_x * mean_y) / variance
        return max(0.0, mean_y + slope * (sample.prompt_tokens - mean_x))


class TaskMean:
    """Mean output tokens of the task type; of everything for a task not seen."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self._sums: dict[TaskType | None, tuple[int, float]] = {}
        for sample in samples:
            self.learn(sample)

    def learn(self, sample: Sample) -> None:
        for key in (sample.task_type, None):
            count, total = self._sums.get(key, (0, 0.0))
            self._sums[key] = (count + 1, total + sample.output_tokens)

    def predict(self, sample: Sample) -> float:
        count, total = self._sums.get(sample.task_type) or self._sums.get(None, (0, 0.0))
        return total / count if count else 0.0
