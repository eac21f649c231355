"""Accuracy by source and by task, and which task is taken for which."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hmas.controllers.perception.chain import Classifier, Perception
from hmas.controllers.perception.incoming import Incoming, Prompt, TenantDefaults
from hmas.controllers.perception.training import TASKS, Sample
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.engine.features import TaskType

Namer = Callable[[Prompt], TaskType]
PATIENT_S = 10.0
"""Accuracy is measured without the time budget: a busy machine must not change it."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Shares of prompts named right.

    Attributes:
        source_balanced: mean over the sources of each one's share.
        overall: over all prompts alike.
        unknown: share that nobody named.
        confusion: (labelled, named) to prompts.
    """

    source_balanced: float
    overall: float
    unknown: float
    by_source: dict[str, float]
    by_task: dict[str, float]
    prompts: dict[str, int]
    confusion: dict[tuple[TaskType, TaskType], int]

    def as_dict(self) -> dict[str, Any]:
        return {
            "source_balanced": self.source_balanced,
            "overall": self.overall,
            "unknown": self.unknown,
            "by_source": self.by_source,
            "by_task": self.by_task,
            "prompts": self.prompts,
        }


def chain(classifier: Classifier | None) -> Namer:
    """Perception as the gateway runs it, for an anonymous client that claims nothing."""
    perception = Perception(HistoryPredictor(), classifier=classifier, budget_s=PATIENT_S)
    defaults = TenantDefaults()

    def named(prompt: Prompt) -> TaskType:
        incoming = Incoming(request_id="r", arrival_s=0.0, defaults=defaults, prompt=prompt)
        return perception.tag(incoming).task_type

    return named


def alone(classifier: Classifier) -> Namer:
    """The classifier without the chain around it."""

    def named(prompt: Prompt) -> TaskType:
        guess = classifier.classify(prompt, PATIENT_S)
        return TaskType.UNKNOWN if guess is None else guess.task_type

    return named


def accuracy(samples: Sequence[Sample], named: Namer) -> Accuracy:
    """Raises :class:`ValueError` without samples."""
    if not samples:
        raise ValueError("no prompts to measure on")
    sources: dict[str, list[bool]] = defaultdict(list)
    tasks: dict[str, list[bool]] = defaultdict(list)
    confusion: Counter[tuple[TaskType, TaskType]] = Counter()
    for sample in samples:
        answer = named(sample.prompt)
        right = answer is sample.task_type
        sources[sample.source].append(right)
        tasks[sample.task_type.value].append(right)
        confusion[sample.task_type, answer] += 1
    by_source = {name: fmean(sources[name]) for name in sorted(sources)}
    unknown = sum(n for (_, answer), n in confusion.items() if answer is TaskType.UNKNOWN)
    return Accuracy(
        source_balanced=fmean(by_source.values()),
        overall=sum(sum(rights) for rights in sources.values()) / len(samples),
        unknown=unknown / len(samples),
        by_source=by_source,
        by_task={name: fmean(tasks[name]) for name in sorted(tasks)},
        prompts={name: len(sources[name]) for name in sorted(sources)},
        confusion=dict(confusion),
    )


def confusion_rows(found: Accuracy) -> list[dict[str, object]]:
    """One row per labelled task, one column per task that it was named."""
    columns = (*TASKS, TaskType.UNKNOWN)
    return [
        {"labelled": task.value}
        | {column.value: found.confusion.get((task, column), 0) for column in columns}
        for task in TASKS
    ]
