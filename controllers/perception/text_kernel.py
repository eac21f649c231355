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
def _joined(first: Hashes, second: Hashes, skipped: int) -> Hashes:
    """Hash of each of ``first`` with what stands ``skipped`` places later in ``second``."""
    joined = np.empty(max(0, len(second) - skipped), dtype=np.uint64)
    for place in range(len(joined)):
        joined[place] = first[place] * _PAIR + second[place + skipped]
    return joined


@compiled
def _letters(codes: Codes, size: int) -> Hashes:
    """Hash of each sequence of ``size`` characters at the beginning."""
    found = np.empty(max(0, min(len(codes), HEAD_LETTERS) - size + 1), dtype=np.uint64)
    for place in range(len(found)):
        total, power = _NOTHING, _ONE
        for offset in range(size):
            total += _folded(codes[place + offset]) * power
            power *= _BASE
        found[place] = total
    return found


@compiled
def _put(  # noqa: PLR0917  machine code takes no keywords cheaply
    hashes: Hashes, first: int, last: int, salt: np.uint64, row: Places, at: int
) -> int:
    """Writes the rows of ``hashes[first:last]`` at ``at``; where the next ones go."""
    for place in range(max(0, first), min(last, len(hashes))):
        mixed = hashes[place] + salt
        mixed = (mixed ^ (mixed >> _HALF)) * _MIX
        mixed = (mixed ^ (mixed >> _HALF)) * _PAIR
        row[at] = mixed >> _SHIFT
        at += 1
    return at


@compiled
def _weigh(value: Floats, begin: int, end: int, weight: float) -> int:
    """The values of one group, whose vector has the length ``weight``; where it ends."""
    for place in range(begin, end):
        value[place] = weight / (end - begin) ** 0.5
    return end


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
    pairs = _joined(words, words, 1)
    triples = _joined(pairs, words, 2)
    told = _words(system, is_word)
    told_pairs = _joined(told, told, 1)
    short, long = _letters(codes, SHORT_LETTERS), _letters(codes, LONG_LETTERS)
    most = 3 * len(words) + 5 * HEAD_WORDS + 4 * TAIL_WORDS + 2 * SYSTEM_WORDS
    room = most + len(short) + len(long) + len(shape)
    row = np.empty(room, dtype=np.int64)
    value = np.empty(room, dtype=np.float32)

    end = _put(words, 0, HEAD_WORDS, _HEAD_SALT, row, 0)
    end = _put(pairs, 0, HEAD_WORDS, _HEAD_SALT, row, end)
    end = _put(triples, 0, HEAD_TRIPLES, _HEAD_SALT, row, end)
    begin = _weigh(value, 0, end, _HEAD)
    end = _put(words, 0, len(words), _ANYWHERE_SALT, row, begin)
    begin = _weigh(value, begin, end, _ANYWHERE)
    end = _put(words, len(words) - TAIL_WORDS, len(words), _TAIL_SALT, row, begin)
    end = _put(pairs, len(pairs) - TAIL_WORDS, len(pairs), _TAIL_SALT, row, end)
    begin = _weigh(value, begin, end, _TAIL)
    end = _put(words, 0, 1, _OPENING_SALT, row, begin)
    end = _put(pairs, 0, 1, _OPENING_SALT, row, end)
    end = _put(triples, 0, 1, _OPENING_SALT, row, end)
    begin = _weigh(value, begin, end, _OPENING)
    end = _put(short, 0, len(short), _CHARACTERS_SALT, row, begin)
    end = _put(long, 0, len(long), _CHARACTERS_SALT, row, end)
    begin = _weigh(value, begin, end, _CHARACTERS)
    end = _put(told, 0, SYSTEM_WORDS, _HEAD_SALT, row, begin)
    end = _put(told_pairs, 0, SYSTEM_WORDS - 1, _HEAD_SALT, row, end)
    end = _weigh(value, begin, end, _SYSTEM)
    for place in range(len(shape)):
        row[end] = BUCKETS + shape[place]
        value[end] = _FORM if place < forms else _POINTS
        end += 1
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
        for task in range(len(found)):
            found[task] += value[place] * table[row[place], task]
    most = np.float32(-np.inf)
    for task in range(len(found)):
        found[task] = found[task] * scale[task] + bias[task]
        most = max(most, found[task])
    total = np.float32(0)
    for task in range(len(found)):
        found[task] = np.exp(found[task] - most)
        total += found[task]
    for task in range(len(found)):
        found[task] /= total
    return found
