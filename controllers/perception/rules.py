"""Explicit cues: what a prompt says of its own task, read in a bounded piece of it.

Each cue is a lower-case piece of text with a weight; the task with the largest sum wins when it
reaches ``MIN_SCORE`` and leads the runner-up. Cues are indexed by how their first word begins,
so only the few whose first word occurs in the prompt are searched for: some 20 microseconds,
where an alternation of the ``re`` module takes milliseconds.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hmas.controllers.perception.cues import CUES
from hmas.controllers.perception.incoming import Prompt
from hmas.engine.features import TaskType

HEAD_CHARACTERS: Final = 700
TAIL_CHARACTERS: Final = 300
SYSTEM_CHARACTERS: Final = 300
MIN_SCORE: Final = 2
LONG_FORM_WORDS: Final = 1000
DIALOGUE_TURNS: Final = 4
NUMBERS_OF_A_WORD_PROBLEM: Final = 2

_FRAMING: Final = " \t\r\n\"'#*->"
_NUMBER = re.compile(r"\d+")


STRONG, WEAK, OPENING = 3, 1, 2
MOST_STRONG, MOST_WEAK = 3, 4
"""How many cues of a kind count."""
KEY_CHARACTERS: Final = 4

_BEGINNING = re.compile(rf"([a-z]{{1,{KEY_CHARACTERS}}})[a-z]*")


class _Cue(NamedTuple):
    text: str
    task_type: TaskType
    is_strong: bool


def _index() -> dict[str, tuple[_Cue, ...]]:
    """Cues by the beginning of their first word; under "" those that begin with no letter."""
    index: dict[str, list[_Cue]] = {}
    for cues in CUES:
        for texts, is_strong in ((cues.strong, True), (cues.weak, False)):
            for text in texts:
                word = _BEGINNING.match(text.lstrip())
                key = word.group(1) if word is not None else ""
                index.setdefault(key, []).append(_Cue(text, cues.task_type, is_strong))
    return {key: tuple(found) for key, found in index.items()}


_INDEX: Final = _index()
_KEYS: Final = frozenset(_INDEX) - {""}
_OPENINGS: Final = tuple((cues.opening, cues.task_type) for cues in CUES if cues.opening)


def classify(prompt: Prompt) -> TaskType | None:
    """The task that the cues agree on, or None when they do not say."""
    best, best_score, second_score = None, 0, 0
    for task_type, score in _scores(prompt).items():
        if score > best_score:
            best, best_score, second_score = task_type, score, best_score
        elif score > second_score:
            second_score = score
    if best_score < MIN_SCORE or best_score == second_score:
        return _by_shape(prompt)
    return best


def _scores(prompt: Prompt) -> dict[TaskType, int]:
    text = bounded(prompt.text).lower()
    scores = _cue_scores(text)
    for openings, task_type in _OPENINGS:
        if text.startswith(openings):
            _add(scores, task_type, OPENING)
    if prompt.system:
        for cue in _found(prompt.system[:SYSTEM_CHARACTERS].lower()):
            _add(scores, cue.task_type, int(cue.is_strong))
    _add_shape(scores, prompt, text)
    return scores


def _add(scores: dict[TaskType, int], task_type: TaskType, points: int) -> None:
    """Plain dicts: making a Counter costs more than everything else that is done with it."""
    scores[task_type] = scores.get(task_type, 0) + points


def _cue_scores(text: str) -> dict[TaskType, int]:
    strong: dict[TaskType, int] = {}
    weak: dict[TaskType, int] = {}
    for cue in _found(text):
        _add(strong if cue.is_strong else weak, cue.task_type, 1)
    scores = {task_type: STRONG * min(count, MOST_STRONG) for task_type, count in strong.items()}
    for task_type, count in weak.items():
        _add(scores, task_type, WEAK * min(count, MOST_WEAK))
    return scores


def _found(text: str) -> list[_Cue]:
    keys = _KEYS.intersection(_BEGINNING.findall(text))
    return [cue for key in ("", *keys) for cue in _INDEX.get(key, ()) if cue.text in text]


def _add_shape(scores: dict[TaskType, int], prompt: Prompt, text: str) -> None:
    if prompt.json_answer:
        _add(scores, TaskType.EXTRACTION, STRONG)
    if prompt.tools:
        _add(scores, TaskType.INSTRUCTION_FOLLOWING, STRONG)
    if _asks_for_many_words(text):
        _add(scores, TaskType.LONG_FORM_GENERATION, STRONG)
    if text.endswith("?"):
        word_problem = len(_NUMBER.findall(text)) >= NUMBERS_OF_A_WORD_PROBLEM
        task_type = TaskType.MATH_REASONING if word_problem else TaskType.QA
        _add(scores, task_type, STRONG - WEAK)


def bounded(text: str) -> str:
    """Beginning and end of ``text``: instructions stand before or after the material."""
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text.strip(_FRAMING)
    head = text[:HEAD_CHARACTERS].lstrip(_FRAMING)
    return head + "\n" + text[-TAIL_CHARACTERS:].rstrip()


def _asks_for_many_words(text: str) -> bool:
    """``... in 2000 words``: the number right before the word ``words``."""
    before, found, _ = text.partition(" words")
    if not found:
        return False
    number = before[-8:].split(" ")[-1].split("-")[-1].replace(",", "")
    return number.isascii() and number.isdigit() and int(number) >= LONG_FORM_WORDS


def _by_shape(prompt: Prompt) -> TaskType | None:
    """A conversation under way is a dialogue, whatever its last turn says."""
    return TaskType.DIALOGUE if prompt.turns >= DIALOGUE_TURNS else None
