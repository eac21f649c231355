"""The form of a request: turns, tools, length, script, punctuation, and what the rules say."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from hmas.controllers.perception.cues import CUES
from hmas.controllers.perception.incoming import Prompt

_NUMBER: Final = re.compile(r"\d+")
_CODE: Final = re.compile(r"[{};=<>]|\(\)|->|::")
_OTHER_SCRIPT: Final = re.compile(r"[^\x00-\u024f\u2000-\u27ff\ufe00-\ufe0f\U0001f000-\U0001ffff]")
_MARKS: Final = ("?", "\uff1f", "\u061f")
_OPTION: Final = re.compile(r"\n\s*\(?[A-Da-d1-4][.):]")
_FORMULA: Final = re.compile(r"\\[a-z]+|\$\$|\d\s*[-+*/^=×÷]\s*\d|\bx\s*\^?\s*[-+=]")

_SCRIPT_EDGES: Final = (0x0400, 0x0530, 0x0590, 0x0780, 0x0E00, 0x1100, 0x2E80, 0x3100, 0xAC00)
"""Where blocks of scripts begin: Greek, Cyrillic, Armenian, Hebrew and Arabic, Indic, ..."""


def _turns(prompt: Prompt, text: str) -> int:
    return bisect_left((1, 2, 3, 5, 8), prompt.turns)


def _asks(prompt: Prompt, text: str) -> int:
    """Tools 1, a JSON answer 2."""
    return (1 if prompt.tools else 0) + (2 if prompt.json_answer else 0)


def _size(prompt: Prompt, text: str) -> int:
    return bisect_left((12, 30, 60, 120, 250, 500, 1000, 4000), prompt.size_bytes or len(text))


def _numbers(prompt: Prompt, text: str) -> int:
    return bisect_left((0, 1, 2, 4, 8), len(_NUMBER.findall(text)))


def _code(prompt: Prompt, text: str) -> int:
    return bisect_left((0, 1, 3, 8), len(_CODE.findall(text))) + (5 if "```" in text else 0)


def _lines(prompt: Prompt, text: str) -> int:
    return bisect_left((0, 1, 3, 8), text.count("\n"))


def _questions(prompt: Prompt, text: str) -> int:
    """Question marks, and whether the text ends with one."""
    marks = sum(text.count(mark) for mark in _MARKS)
    return min(marks, 2) + (3 if text.rstrip("\"')]” ").endswith(_MARKS) else 0)


def _sentences(prompt: Prompt, text: str) -> int:
    """A word problem tells a story first; a question to a table does not."""
    return bisect_left((0, 1, 2, 4), text.count(". "))


def _end(prompt: Prompt, text: str) -> int:
    """What the text stops with: nothing, a full stop, a colon, an exclamation."""
    return 1 + ".:!".find(text[-1:]) if text else 4


def _script(prompt: Prompt, text: str) -> int:
    found = _OTHER_SCRIPT.search(text)
    return 1 + bisect_left(_SCRIPT_EDGES, ord(found[0])) if found else 0


def _options(prompt: Prompt, text: str) -> int:
    return min(2, len(_OPTION.findall(text)))


def _formula(prompt: Prompt, text: str) -> int:
    return bisect_left((0, 1, 3), len(_FORMULA.findall(text)))


def _system(prompt: Prompt, text: str) -> int:
    return int(bool(prompt.system))


_READERS: Final[tuple[tuple[Callable[[Prompt, str], int], int], ...]] = (
    (_turns, 6),
    (_asks, 4),
    (_size, 9),
    (_numbers, 6),
    (_code, 10),
    (_lines, 5),
    (_sentences, 5),
    (_questions, 6),
    (_end, 5),
    (_script, 11),
    (_options, 3),
    (_formula, 4),
    (_system, 2),
)
"""Each feature and how many values it has."""

_FORMS: Final = sum(values for _, values in _READERS)
_SCORES: Final = (1, 2, 3, 5)
"""Upper edges of the buckets of a task's points from the rules; no points, no row."""
SHAPES: Final = _FORMS + len(CUES) * (len(_SCORES) + 1)


def shape_rows(prompt: Prompt) -> tuple[list[int], list[int]]:
    """Rows of the form and rows of the rules' points, all distinct and below ``SHAPES``."""
    text = prompt.bounded
    rows, first = [], 0
    for read, values in _READERS:
        rows.append(first + read(prompt, text))
        first += values
    points = []
    for score in prompt.points:
        if score > 0:
            points.append(first + bisect_left(_SCORES, score))
        first += len(_SCORES) + 1
    return rows, points
