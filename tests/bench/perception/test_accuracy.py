from __future__ import annotations

import pytest

from hmas.bench.corpus.sample import sample
from hmas.bench.perception.accuracy import accuracy, alone, chain, confusion_rows
from hmas.controllers.perception.chain import Guess
from hmas.controllers.perception.incoming import Prompt
from hmas.engine.features import TaskType

QA, MATH = TaskType.QA, TaskType.MATH_REASONING


class Says:
    def __init__(self, task_type: TaskType, probability: float = 0.9) -> None:
        self._guess = Guess(task_type, probability)

    def classify(self, prompt: Prompt, budget_s: float) -> Guess | None:
        return self._guess if prompt.text else None


SAMPLES = [
    sample("large", QA, "one"),
    sample("large", QA, "two"),
    sample("large", QA, "three"),
    sample("small", MATH, "four"),
]


def test_each_source_counts_alike() -> None:
    found = accuracy(SAMPLES, alone(Says(QA)))
    assert found.source_balanced == 0.5
    assert found.overall == 0.75
    assert found.by_source == {"large": 1, "small": 0}
    assert found.by_task == {"QA": 1, "MathReasoning": 0}
    assert found.confusion == {(QA, QA): 3, (MATH, QA): 1}
    assert found.unknown == 0


def test_rows_of_the_confusion_are_labels() -> None:
    rows = confusion_rows(accuracy(SAMPLES, alone(Says(QA))))
    row = next(row for row in rows if row["labelled"] == "MathReasoning")
    assert row["QA"] == 1
    assert row["MathReasoning"] == 0


def test_what_nobody_names_is_unknown() -> None:
    assert alone(Says(QA))(Prompt()) is TaskType.UNKNOWN
    assert accuracy([sample("s", QA, "zq")], chain(None)).unknown == 1


def test_the_chain_hears_the_classifier_before_the_rules() -> None:
    prompt = Prompt(text="Translate this to German")
    assert chain(None)(prompt) is TaskType.TRANSLATION
    assert chain(Says(QA))(prompt) is QA
    assert chain(Says(QA, 0.01))(prompt) is TaskType.TRANSLATION


def test_no_prompts_is_an_error() -> None:
    with pytest.raises(ValueError, match="no prompts"):
        accuracy([], chain(None))
