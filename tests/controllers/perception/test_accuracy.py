from __future__ import annotations

import pytest

from hmas.controllers.perception.accuracy import TaskScores
from hmas.engine.features import TaskType


def test_guesses_beside_claims() -> None:
    scores = TaskScores()
    assert scores.accuracy() is None
    scores.add(TaskType.QA, TaskType.QA)
    scores.add(TaskType.QA, TaskType.TRANSLATION)
    scores.add(TaskType.QA, None)
    scores.add(TaskType.UNKNOWN, TaskType.QA)
    found = scores.accuracy()
    assert found is not None
    assert found.requests == scores.scored == 3, "a claim of unknown is no truth"
    assert found.right == pytest.approx(1 / 3)
    assert found.unknown == pytest.approx(1 / 3)


def test_only_the_newest_count() -> None:
    scores = TaskScores(window=2)
    for guessed in (TaskType.TRANSLATION, TaskType.QA, TaskType.QA):
        scores.add(TaskType.QA, guessed)
    found = scores.accuracy()
    assert found is not None
    assert (found.requests, found.right, scores.scored) == (2, 1.0, 3)
