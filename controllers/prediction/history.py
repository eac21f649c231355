"""Predictions from what similar requests of late turned out to be."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

from hmas.controllers.prediction.base import Prediction, Question
from hmas.controllers.prediction.sliding import SlidingSample
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import TaskType, length_bucket

DEFAULT_OUTPUT_TOKENS: Final = 256
MIN_SAMPLES: Final = 8
"""Fewer say nothing of a group: the next wider one is asked."""
MAX_GROUPS: Final = 4096
UNQUEUED_QUANTILE: Final = 0.25
"""Observed TTFT holds queueing; its lower quartile is closer to service alone."""

Key = TypeVar("Key")


class GroupedSamples(Generic[Key]):
    """One sliding sample per group; the groups least recently added to are forgotten."""

    def __init__(self, max_groups: int = MAX_GROUPS) -> None:
        self._groups: OrderedDict[Key, SlidingSample] = OrderedDict()
        self._max_groups = max_groups

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, key: Key, value: float) -> None:
        sample = self._groups.get(key)
        if sample is None:
            sample = self._groups[key] = SlidingSample()
            if len(self._groups) > self._max_groups:
                self._groups.popitem(last=False)
        else:
            self._groups.move_to_end(key)
        sample.add(value)

    def quantile(self, key: Key, share: float) -> float | None:
        sample = self._groups.get(key)
        if sample is None or len(sample) < MIN_SAMPLES:
            return None
        return sample.quantile(share)


class HistoryPredictor:
    """Length by tenant and task, then by task, then overall; TTFT by prompt length bucket.

    Requests that were cut off teach nothing: their lengths are not the model's.
    """

    def __init__(self, length_quantile: float = 0.5) -> None:
        self._length_quantile = length_quantile
        self._lengths: GroupedSamples[tuple[str | None, TaskType | None]] = GroupedSamples()
        self._ttft_ms: GroupedSamples[int | None] = GroupedSamples()
        self._tpot_ms: GroupedSamples[TaskType | None] = GroupedSamples()

    def observe(self, finished: RequestFinished) -> None:
        if finished.outcome is not Outcome.COMPLETED or finished.output_tokens < 1:
            return
        features = finished.features
        for group in _length_groups(features.tenant, features.task_type):
            self._lengths.add(group, finished.output_tokens)
        ttft_ms = (finished.ttft_s - finished.queue_s) * 1000
        for bucket in (length_bucket(finished.prompt_tokens), None):
            self._ttft_ms.add(bucket, max(0.0, ttft_ms))
        if finished.tpot_s > 0:
            for task in (features.task_type, None):
                self._tpot_ms.add(task, finished.tpot_s * 1000)

    def predict(self, question: Question) -> Prediction:
        bucket = length_bucket(question.prompt_tokens)
        return Prediction(
            output_tokens=self._output_tokens(question),
            ttft_ms=_first_known(self._ttft_ms, (bucket, None), UNQUEUED_QUANTILE),
            tpot_ms=_first_known(self._tpot_ms, (question.task_type, None), 0.5),
        )

    def _output_tokens(self, question: Question) -> int:
        expected = question.hinted_output_tokens or int(
            _first_known(
                self._lengths,
                _length_groups(question.tenant, question.task_type),
                self._length_quantile,
            )
            or DEFAULT_OUTPUT_TOKENS
        )
        cap = question.max_output_tokens
        return expected if cap is None else min(expected, cap)


def _length_groups(
    tenant: str, task_type: TaskType
) -> tuple[tuple[str | None, TaskType | None], ...]:
    return ((tenant, task_type), (None, task_type), (None, None))


def _first_known(samples: GroupedSamples[Key], keys: tuple[Key, ...], share: float) -> float:
    for key in keys:
        value = samples.quantile(key, share)
        if value is not None:
            return value
    return 0.0
