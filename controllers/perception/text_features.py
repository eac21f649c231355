"""What the learned classifier sees of a prompt: hashed words and characters, and its shape.

Everything is computed on one array of code points: a rolling hash gives each word, word pair and
character sequence its row in a table of weights, without a Python loop over the text. Words at
the beginning count as instructions, words anywhere as topic, words at the end once more, because
an instruction may follow its material. Digits are alike, case is folded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.rules import SYSTEM_CHARACTERS, bounded
from hmas.controllers.perception.text_shape import SHAPES, shape_rows

BITS: Final = 16
BUCKETS: Final = 1 << BITS
ROWS: Final = BUCKETS + SHAPES
"""Rows of the table of weights: hashed text, then one row per value of each shape feature."""

HEAD_WORDS: Final = 30
TAIL_WORDS: Final = 24
SYSTEM_WORDS: Final = 40
HEAD_LETTERS: Final = 160
LETTERS: Final = (2, 4)
"""Lengths of the character sequences: two say something in Chinese, four in a word's stem."""

Array = npt.NDArray[np.uint64]
_CAPACITY: Final = 4096
_BASE: Final = 0x9E3779B97F4A7C15
_MIX: Final = np.uint64(0xBF58476D1CE4E5B9)
_PAIR: Final = np.uint64(0xD6E8FEB86659FD93)
_SHIFT: Final = np.uint64(64 - BITS)
_HALF: Final = np.uint64(29)
_ZERO: Final = 48


class Rows(NamedTuple):
    """Rows of the table that apply to one prompt, and the value of each (float32)."""

    row: npt.NDArray[np.int64]
    value: npt.NDArray[np.float32]


class _Group(NamedTuple):
    """``weight``: the length of the group's vector, however many rows it has."""

    salt: np.uint64
    weight: float


_HEAD: Final = _Group(np.uint64(0x1F123BB5), 1.4)
_SYSTEM: Final = _Group(_HEAD.salt, 0.7)
"""The same rows as the head's: an instruction is one wherever it stands."""
_ANYWHERE: Final = _Group(np.uint64(0x5BD1E995), 0.8)
_TAIL: Final = _Group(np.uint64(0x3C6EF372), 0.6)
_OPENING: Final = _Group(np.uint64(0x7F4A7C15), 0.8)
_CHARACTERS: Final = _Group(np.uint64(0x2545F491), 1.0)
_FORM: Final = np.float32(0.4)
_POINTS: Final = np.float32(0.8)


def _powers(base: int) -> Array:
    values, power = [], 1
    for _ in range(_CAPACITY + 1):
        values.append(power)
        power = power * base % 2**64
    return np.array(values, dtype=np.uint64)


_POWERS: Final = _powers(_BASE)
_INVERSES: Final = _powers(pow(_BASE, -1, 2**64))


def _word_table() -> npt.NDArray[np.bool_]:
    """Which code points of the basic plane belong to a word."""
    table = np.ones(65536, dtype=bool)
    table[:128] = [chr(code).isalnum() for code in range(128)]
    for first, last in ((0x80, 0xBF), (0x2000, 0x206F), (0x3000, 0x303F), (0xFF00, 0xFF0F)):
        table[first : last + 1] = False
    return table


_IS_WORD: Final = _word_table()


def prompt_rows(prompt: Prompt) -> Rows:
    """Rows and values of one prompt; never raises, bounded by the bounded reading."""
    text = bounded(prompt.text)
    folded = text.lower()
    parts = _text_parts(_codes(folded))
    if prompt.system:
        system = _codes(prompt.system[:SYSTEM_CHARACTERS].lower())
        words = _words(_prefix(system), system)[:SYSTEM_WORDS]
        parts.append((_SYSTEM, np.concatenate((words, _pairs(words)))))
    return _weighted(parts, shape_rows(prompt, text))


def _codes(text: str) -> Array:
    """Code points, digits alike; lone surrogates are code points like any other."""
    raw = text[:_CAPACITY].encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(raw, dtype=np.uint32).astype(np.uint64)
    codes[(codes >= _ZERO) & (codes < _ZERO + 10)] = _ZERO
    return codes


def _prefix(codes: Array) -> Array:
    """Sums of ``code * base**position``: the difference of two is the hash of what is between."""
    prefix = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum((codes + np.uint64(1)) * _POWERS[: len(codes)], out=prefix[1:])
    return prefix


def _words(prefix: Array, codes: Array) -> Array:
    """Hash of each word, in order."""
    inside = _IS_WORD[np.minimum(codes, 65535).astype(np.int64)]
    edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
    first, after = edges[::2], edges[1::2]
    return (prefix[after] - prefix[first]) * _INVERSES[first]


def _pairs(words: Array) -> Array:
    return words[:-1] * _PAIR + words[1:]


def _text_parts(codes: Array) -> list[tuple[_Group, Array]]:
    prefix = _prefix(codes)
    words = _words(prefix, codes)
    pairs = _pairs(words)
    triples = pairs[:-1] * _PAIR + words[2:]
    head = np.concatenate((words[:HEAD_WORDS], pairs[:HEAD_WORDS], triples[: HEAD_WORDS // 2]))
    tail = np.concatenate((words[-TAIL_WORDS:], pairs[-TAIL_WORDS:]))
    return [
        (_HEAD, head),
        (_ANYWHERE, words),
        (_TAIL, tail),
        (_OPENING, np.concatenate((words[:1], pairs[:1], triples[:1]))),
        (_CHARACTERS, _characters(prefix[: HEAD_LETTERS + 1])),
    ]


def _characters(prefix: Array) -> Array:
    positions = len(prefix)
    return np.concatenate(
        [
            (prefix[size:] - prefix[:-size]) * _INVERSES[: max(0, positions - size)]
            for size in LETTERS
        ]
    )


@lru_cache(maxsize=_CAPACITY)
def _value(weight: float, count: int) -> np.float32:
    return np.float32(weight / count**0.5)


def _weighted(parts: list[tuple[_Group, Array]], shape: tuple[list[int], list[int]]) -> Rows:
    form, points = shape
    mixed = np.concatenate([hashes + group.salt for group, hashes in parts])
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX
    mixed = (mixed ^ (mixed >> _HALF)) * _PAIR
    hashed = (mixed >> _SHIFT).astype(np.int64)
    index = np.concatenate((hashed, np.array(form + points, dtype=np.int64) + BUCKETS))
    counts = [len(hashes) for _, hashes in parts]
    values = [_value(group.weight, max(1, len(hashes))) for group, hashes in parts]
    value = np.repeat(
        np.array([*values, _FORM, _POINTS], dtype=np.float32),
        np.array([*counts, len(form), len(points)]),
    )
    return Rows(index, value)
