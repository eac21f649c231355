"""The loops of the learned classifier: hashed words and characters, and their weights' sum.

Everything that the compiled code depends on stands in this file: the cache of compiled code is
renewed when the file changes, not when another one does.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from hmas.controllers.compiled import compiled

BITS: Final = 16
BUCKETS: Final = 1 << BITS

HEAD_WORDS: Final = 30
HEAD_TRIPLES: Final = 15
TAIL_WORDS: Final = 24
SYSTEM_WORDS: Final = 40
HEAD_LETTERS: Final = 160
SHORT_LETTERS: Final = 2
LONG_LETTERS: Final = 4
"""Lengths of the character sequences: two say something in Chinese, four in a word's stem."""

Codes = npt.NDArray[np.uint32]
Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

_BASE: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = np.uint64(0xBF58476D1CE4E5B9)
_PAIR: Final = np.uint64(0xD6E8FEB86659FD93)
_SHIFT: Final = np.uint64(64 - BITS)
_HALF: Final = np.uint64(29)
_ONE: Final = np.uint64(1)
_NOTHING: Final = np.uint64(0)
_ZERO: Final = 48

# Each group's salt, and the length of its vector, however many rows it has.
_HEAD_SALT: Final = np.uint64(0x1F123BB5)
_HEAD: Final = 1.4
_SYSTEM: Final = 0.7
"""With the head's salt: an instruction is one wherever it stands."""
_ANYWHERE_SALT: Final = np.uint64(0x5BD1E995)
_ANYWHERE: Final = 0.8
_TAIL_SALT: Final = np.uint64(0x3C6EF372)
_TAIL: Final = 0.6
_OPENING_SALT: Final = np.uint64(0x7F4A7C15)
_OPENING: Final = 0.8
_CHARACTERS_SALT: Final = np.uint64(0x2545F491)
_CHARACTERS: Final = 1.0
_FORM: Final = 0.4
_POINTS: Final = 0.8


def _word_table() -> npt.NDArray[np.bool_]:
    """Which code points of the basic plane belong to a word."""
    table = np.ones(65536, dtype=np.bool_)
    table[:128] = [chr(code).isalnum() for code in range(128)]
    for first, last in ((0x80, 0xBF), (0x2000, 0x206F), (0x3000, 0x303F), (0xFF00, 0xFF0F)):
        table[first : last + 1] = False
    return table


IS_WORD: Final = _word_table()
"""To be given to the functions below: as a global it would be copied into the machine code."""


@compiled
def _folded(code: np.uint32) -> np.uint64:
    """Digits are alike; one is added, so that no character counts nothing."""
    return np.uint64(_ZERO if _ZERO <= code < _ZERO + 10 else code) + _ONE


@compiled
def _words(codes: Codes, is_word: npt.NDArray[np.bool_]) -> Hashes:
    """Hash of each word, in order: the sum of ``code * base**position`` within the word."""
    words = np.empty(len(codes) // 2 + 1, dtype=np.uint64)
    count, total, power, inside = 0, _NOTHING, _ONE, False
    for code in codes:
        if is_word[min(code, np.uint32(65535))]:
            total += _folded(code) * power
            power *= _BASE
            inside = True
        elif inside:
            words[count] = total
            count, total, power, inside = count + 1, _NOTHING, _ONE, False
    if inside:
        words[count] = total
        count += 1
    return words[:count]


@compiled
def _joined(first: Hashes, second: Hashes) -> Hashes:
    """Hash of each pair, as many as there are in ``second``."""
    joined = np.empty(len(second), dtype=np.uint64)
    for place in range(len(second)):
        joined[place] = first[place] * _PAIR + second[place]
    return joined


@compiled
def _letters(codes: Codes, size: int) -> Hashes:
    """Hash of each sequence of ``size`` characters."""
    found = np.empty(max(0, len(codes) - size + 1), dtype=np.uint64)
    for place in range(len(found)):
        total, power = _NOTHING, _ONE
        for code in codes[place : place + size]:
            total += _folded(code) * power
            power *= _BASE
        found[place] = total
    return found


@compiled
def _put(hashes: Hashes, salt: np.uint64, row: Places, at: int) -> int:
    """Writes the rows of ``hashes`` at ``at``; where the next ones go."""
    for place in range(len(hashes)):
        mixed = hashes[place] + salt
        mixed = (mixed ^ (mixed >> _HALF)) * _MIX
        mixed = (mixed ^ (mixed >> _HALF)) * _PAIR
        row[at + place] = mixed >> _SHIFT
    return at + len(hashes)


@compiled
def _weigh(value: Floats, begin: int, end: int, weight: float) -> None:
    """The values of one group, whose vector has the length ``weight``."""
    if end > begin:
        value[begin:end] = np.float32(weight / (end - begin) ** 0.5)


@compiled
def weighed_rows(
    codes: Codes, system: Codes, shape: Places, forms: int, is_word: npt.NDArray[np.bool_]
) -> tuple[Places, Floats]:
    """Rows of the table of weights and the value of each.

    Words at the beginning count as instructions, words anywhere as topic, words at the end once
    more, because an instruction may follow its material.

    Args:
        codes: code points of the text in lower case.
        system: the same of the system prompt.
        shape: numbers of the shape's rows, the first ``forms`` of them of the form.
        is_word: ``IS_WORD``.
    """
    words = _words(codes, is_word)
    pairs = _joined(words, words[1:])
    triples = _joined(pairs, words[2:])
    told = _words(system, is_word)[:SYSTEM_WORDS]
    told_pairs = _joined(told, told[1:])
    short = _letters(codes[:HEAD_LETTERS], SHORT_LETTERS)
    long = _letters(codes[:HEAD_LETTERS], LONG_LETTERS)
    most = 3 * len(words) + 5 * HEAD_WORDS + 4 * TAIL_WORDS
    room = most + 2 * len(told) + len(short) + len(long) + len(shape)
    row = np.empty(room, dtype=np.int64)
    value = np.empty(room, dtype=np.float32)

    end = _put(words[:HEAD_WORDS], _HEAD_SALT, row, 0)
    end = _put(pairs[:HEAD_WORDS], _HEAD_SALT, row, end)
    end = _put(triples[:HEAD_TRIPLES], _HEAD_SALT, row, end)
    _weigh(value, 0, end, _HEAD)
    begin, end = end, _put(words, _ANYWHERE_SALT, row, end)
    _weigh(value, begin, end, _ANYWHERE)
    begin, end = end, _put(words[-TAIL_WORDS:], _TAIL_SALT, row, end)
    end = _put(pairs[-TAIL_WORDS:], _TAIL_SALT, row, end)
    _weigh(value, begin, end, _TAIL)
    begin, end = end, _put(words[:1], _OPENING_SALT, row, end)
    end = _put(pairs[:1], _OPENING_SALT, row, end)
    end = _put(triples[:1], _OPENING_SALT, row, end)
    _weigh(value, begin, end, _OPENING)
    begin, end = end, _put(short, _CHARACTERS_SALT, row, end)
    end = _put(long, _CHARACTERS_SALT, row, end)
    _weigh(value, begin, end, _CHARACTERS)
    begin, end = end, _put(told, _HEAD_SALT, row, end)
    end = _put(told_pairs, _HEAD_SALT, row, end)
    _weigh(value, begin, end, _SYSTEM)
    for place in range(len(shape)):
        row[end + place] = BUCKETS + shape[place]
        value[end + place] = _FORM if place < forms else _POINTS
    end += len(shape)
    return row[:end], value[:end]


@compiled
def probabilities(  # noqa: PLR0917  machine code takes no keywords cheaply
    codes: Codes,
    system: Codes,
    shape: Places,
    forms: int,
    is_word: npt.NDArray[np.bool_],
    table: npt.NDArray[np.int8],
    scale: Floats,
    bias: Floats,
) -> Floats:
    """Softmax of the weights' sum, one per column of ``table``; arguments as above.

    ``table`` has a row for each number that :func:`weighed_rows` gives: [rows, tasks].
    """
    row, value = weighed_rows(codes, system, shape, forms, is_word)
    found = np.zeros(table.shape[1], dtype=np.float32)
    for place in range(len(row)):
        weights = table[row[place]]
        for task in range(len(found)):
            found[task] += value[place] * weights[task]
    for task in range(len(found)):
        found[task] = found[task] * scale[task] + bias[task]
    raised: Floats = np.exp(found - found.max())
    raised /= raised.sum()
    return raised
