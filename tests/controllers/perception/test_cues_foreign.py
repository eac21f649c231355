from __future__ import annotations

from hmas.controllers.perception.cues import CUES
from hmas.controllers.perception.cues_foreign import FOREIGN
from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.rules import classify
from hmas.engine.features import TaskType


def test_every_task_has_words_of_other_languages_and_they_are_cues() -> None:
    assert set(FOREIGN) == set(TaskType) - {TaskType.UNKNOWN}
    strong = {cues.task_type: set(cues.strong) for cues in CUES}
    weak = {cues.task_type: set(cues.weak) for cues in CUES}
    for task, words in FOREIGN.items():
        assert set(words) <= strong[task] | weak[task]
        assert all(word == word.lower() for word in words)


def test_plain_requests_in_other_languages_are_named() -> None:
    assert classify(Prompt(text="Переведи на немецкий: да")) is TaskType.TRANSLATION
    assert classify(Prompt(text="Fasse den Text zusammen: ja")) is TaskType.SUMMARIZATION
    assert classify(Prompt(text="Escribe un ensayo sobre la mar")) is TaskType.ESSAY_GENERATION
