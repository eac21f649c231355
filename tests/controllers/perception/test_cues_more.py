from __future__ import annotations

import pytest

from hmas.controllers.perception.cues import CUES
from hmas.controllers.perception.cues_more import STRONG, WEAK
from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.rules import classify
from hmas.engine.features import TaskType


def test_every_task_has_more_words_and_they_are_cues() -> None:
    assert set(STRONG) == set(TaskType) - {TaskType.UNKNOWN}
    cues = {one.task_type: one for one in CUES}
    for task, words in STRONG.items():
        assert set(words) <= set(cues[task].strong)
    for task, words in WEAK.items():
        assert set(words) <= {*cues[task].weak, *cues[task].strong}


def test_words_are_lower_case() -> None:
    words = [word for found in (STRONG, WEAK) for many in found.values() for word in many]
    assert words == [word.lower() for word in words]


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("put it into swahili", TaskType.TRANSLATION),
        ("the gist of it", TaskType.SUMMARIZATION),
        ("a limerick on otters", TaskType.LONG_FORM_GENERATION),
        ("swot of otters", TaskType.RESEARCH_AND_COMMUNICATION),
    ],
)
def test_a_word_alone_decides(text: str, task: TaskType) -> None:
    assert classify(Prompt(text=text)) is task
