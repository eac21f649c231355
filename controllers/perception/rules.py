"""Explicit cues: what a prompt says of its own task, read in a bounded piece of it.

Each cue is a lower-case piece of text with a weight; the task with the largest sum wins when it
reaches ``MIN_SCORE`` and leads the runner-up. All cues are searched for at once by an
Aho-Corasick automaton: a few microseconds, where an alternation of the ``re`` module takes
milliseconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ahocorasick_rs import AhoCorasick

from hmas.controllers.perception.cues import CUES
from hmas.engine.features import TaskType

if TYPE_CHECKING:  # a prompt keeps its points
    from hmas.controllers.perception.incoming import Prompt

HEAD_CHARACTERS: Final = 700
TAIL_CHARACTERS: Final = 300
SYSTEM_CHARACTERS: Final = 300
MIN_SCORE: Final = 2
SHAPE: Final = 3
"""Points for the form of a request: schemas, tools, a length that it asks for."""
QUESTION: Final = 2
LONG_FORM_WORDS: Final = 1000
DIALOGUE_TURNS: Final = 4
NUMBERS_OF_A_WORD_PROBLEM: Final = 2

_FRAMING: Final = " \t\r\n\"'#*->"
_NUMBER = re.compile(r"\d+")


class _Kind(NamedTuple):
    """What a cue is worth, and how many of its kind count for one task."""

    points: int
    at_most: int


STRONG: Final = _Kind(3, 3)
WEAK: Final = _Kind(1, 4)
OPENING: Final = _Kind(2, 1)

_TASKS: Final = tuple(cues.task_type for cues in CUES)
_EXTRACTION: Final = _TASKS.index(TaskType.EXTRACTION)
_INSTRUCTIONS: Final = _TASKS.index(TaskType.INSTRUCTION_FOLLOWING)
_LONG_FORM: Final = _TASKS.index(TaskType.LONG_FORM_GENERATION)
_MATH: Final = _TASKS.index(TaskType.MATH_REASONING)
_QA: Final = _TASKS.index(TaskType.QA)


class _Cue(NamedTuple):
    """``task`` counts in ``_TASKS``; ``slot`` is one number for task and kind."""

    text: str
    task: int
    kind: _Kind
    slot: int
    begins_word: bool


def _cues() -> tuple[_Cue, ...]:
    found = []
    for task, cues in enumerate(CUES):
        kinds = ((cues.strong, STRONG), (cues.weak, WEAK), (cues.opening, OPENING))
        for number, (texts, kind) in enumerate(kinds):
            slot = task * len(kinds) + number
            found += [_Cue(text, task, kind, slot, "a" <= text[0] <= "z") for text in texts]
    return tuple(found)


_CUES: Final = _cues()
_SLOTS: Final = 1 + max(cue.slot for cue in _CUES)
_AUTOMATON: Final = AhoCorasick([cue.text for cue in _CUES])


def classify(prompt: Prompt) -> TaskType | None:
    """The task that the cues agree on, or None when they do not say."""
    scores = prompt.points
    best = max(scores)
    if best < MIN_SCORE or scores.count(best) > 1:
        return _by_shape(prompt)
    return _TASKS[scores.index(best)]


def task_scores(prompt: Prompt) -> list[int]:
    """Points of each task, in the order of ``CUES``."""
    text = prompt.folded
    scores, counts = [0] * len(_TASKS), [0] * _SLOTS
    for cue in _found(text):
        if counts[cue.slot] < cue.kind.at_most:
            counts[cue.slot] += 1
            scores[cue.task] += cue.kind.points
    if prompt.system:
        for cue in _found(prompt.system[:SYSTEM_CHARACTERS].lower()):
            scores[cue.task] += int(cue.kind is STRONG)
    _add_shape(scores, prompt, text)
    return scores


def _found(text: str) -> list[_Cue]:
    """Cues that occur in ``text``, each once, those of letters at the beginning of a word."""
    found: dict[int, _Cue] = {}
    for number, start, _ in _matches(text):
        if number in found:
            continue
        cue = _CUES[number]
        if start and (cue.kind is OPENING or (cue.begins_word and text[start - 1].isalpha())):
            continue
        found[number] = cue
    return list(found.values())


def _matches(text: str) -> list[tuple[int, int, int]]:
    """Cue number, start and end; the automaton takes no lone surrogates, one ``?`` each instead."""
    try:
        return _AUTOMATON.find_matches_as_indexes(text, overlapping=True)
    except UnicodeEncodeError:
        encodable = text.encode("utf-8", "replace").decode()
        return _AUTOMATON.find_matches_as_indexes(encodable, overlapping=True)


def _add_shape(scores: list[int], prompt: Prompt, text: str) -> None:
    if prompt.json_answer:
        scores[_EXTRACTION] += SHAPE
    if prompt.tools:
        scores[_INSTRUCTIONS] += SHAPE
    if _asks_for_many_words(text):
        scores[_LONG_FORM] += SHAPE
    if text.endswith("?"):
        is_word_problem = len(_NUMBER.findall(text)) >= NUMBERS_OF_A_WORD_PROBLEM
        scores[_MATH if is_word_problem else _QA] += QUESTION


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
