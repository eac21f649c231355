"""What a question says of the length of its answer: numbers, and hashed words of the prompt."""

from __future__ import annotations

import re
from collections.abc import Container
from math import log, log1p
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.kernels import CRC_TABLE, distinct_buckets
from hmas.controllers.prediction.length_wishes import length_wish
from hmas.engine.features import TaskType

BUCKETS: Final = 1 << 14
"""Hashed words share this many weights."""
HEAD_WORDS: Final = 110
TAIL_WORDS: Final = 40
"""Instructions stand before or after the material."""
EDGE_WORDS: Final = 8
"""Pairs of words count at the beginning and at the end of a prompt: there it says what it wants."""
OPENING_WORDS: Final = 3
UNSAID: Final = -1.0

NUMBERS: Final = (
    "prompt_tokens",
    "text_characters",
    "system_characters",
    "turns",
    "tools",
    "json_answer",
    "max_output_tokens",
    "temperature",
    "task",
    "words",
    "numbers",
    "lines",
    "wished_tokens",
    "wishes_short",
    "wishes_long",
    "is_question",
)
"""Names of the dense features, in order; lengths and counts as log(1 + x)."""

_WORD = re.compile(r"\w{1,24}")
"""A longer word counts as several."""
_TASKS: Final = {task: float(number) for number, task in enumerate(TaskType)}


class LengthFeatures(NamedTuple):
    """``numbers`` as in ``NUMBERS``; ``buckets`` the distinct hashed words.

    ``opening`` names the first words of the prompt: requests of one template share it.
    """

    numbers: list[float]
    buckets: NDArray[np.int64]
    opening: int


class LengthText(NamedTuple):
    """The same before its words are hashed: ``said`` are those, a zero byte after each."""

    numbers: list[float]
    said: bytes
    opening: int


def read_features(question: Question) -> LengthFeatures:
    """Features of one question; its cost is bounded whatever the prompt is."""
    numbers, said, opening = read_text(question)
    buckets = distinct_buckets(np.frombuffer(said, dtype=np.uint8), BUCKETS, CRC_TABLE)
    return LengthFeatures(numbers, buckets, opening)


def read_text(question: Question, models: Container[str] | None = None) -> LengthText:
    """What :func:`read_features` begins with, for a model that hashes as it goes.

    ``models`` are the names of served models that mean something; others count as not said.
    None: all do.
    """
    prompt = question.prompt
    text = prompt.folded
    words = _WORD.findall(text)
    if len(words) > HEAD_WORDS + TAIL_WORDS:
        words = words[:HEAD_WORDS] + words[-TAIL_WORDS:]
    wish = length_wish(words)
    cap = question.max_output_tokens
    numbers = [
        log1p(max(0, question.prompt_tokens)),
        log1p(len(prompt.text)),
        log1p(len(prompt.system)),
        log1p(max(0, prompt.turns)),
        log1p(max(0, prompt.tools)),
        float(prompt.json_answer),
        UNSAID if cap is None else log1p(max(0, cap)),
        _temperature(question.temperature),
        _TASKS[question.task_type],
        log1p(len(words)),
        log1p(sum(map(str.isdigit, words))),
        log1p(text.count("\n")),
        UNSAID if wish.tokens is None else log(1 + wish.tokens),
        float(wish.is_short),
        float(wish.is_long),
        float(text.endswith("?")),
    ]
    model = question.model if models is None or question.model in models else ""
    opening = "^^" + " ".join(words[:OPENING_WORDS])[:64]
    return LengthText(
        numbers,
        _said(words, text, f"task={question.task_type}", f"model={model[:64]}", opening),
        crc32(opening.encode("utf-8", "replace")) & (BUCKETS - 1),
    )


def _temperature(given: float | None) -> float:
    """Clients write what they like: not a number and infinity count as not said."""
    return given if given is not None and 0.0 <= given <= 10.0 else UNSAID


def _said(words: list[str], text: str, task: str, model: str, opening: str) -> bytes:
    said = [
        *words,
        *map("^{} {}".format, words[:EDGE_WORDS], words[1:EDGE_WORDS]),
        opening,
        model,
        task,
        "end=" + text[-1:],
        task + " ^" + "".join(words[:1]),
    ]
    if len(words) > EDGE_WORDS:
        tail = words[-EDGE_WORDS:]
        said += map("${} {}".format, tail, tail[1:])
    return ("\0".join(said) + "\0").encode("utf-8", "replace")
