from __future__ import annotations

from hmas.controllers.perception.cues import CUES
from hmas.engine.features import TaskType


def test_there_are_cues_for_every_task_of_table_6() -> None:
    assert {cues.task_type for cues in CUES} == set(TaskType) - {TaskType.UNKNOWN}


def test_cues_are_lower_case_and_distinct_within_a_task() -> None:
    for cues in CUES:
        texts = (*cues.strong, *cues.weak)
        assert len(set(texts)) == len(texts)
        for text in (*texts, *cues.opening):
            assert text == text.lower()
