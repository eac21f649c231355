"""The compiled features against the same in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.perception.text_kernel import (
    BUCKETS,
    IS_WORD,
    probabilities,
    weighed_rows,
)

ANY_CODES = st.lists(
    st.one_of(st.sampled_from([32, 33, 48, 57, 97, 98, 0x4E00]), st.integers(0, 0x10FFFF)),
    max_size=400,
)
MASK = 2**64 - 1
BASE, MIX, PAIR = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0xD6E8FEB86659FD93


def hashed(codes: list[int]) -> int:
    return sum((code + 1) * BASE**place for place, code in enumerate(codes)) & MASK


def row_of(value: int, salt: int) -> int:
    mixed = (value + salt) & MASK
    mixed = (mixed ^ (mixed >> 29)) * MIX & MASK
    mixed = (mixed ^ (mixed >> 29)) * PAIR & MASK
    return mixed >> 48


def words_of(codes: list[int]) -> list[int]:
    words: list[list[int]] = [[]]
    for code in codes:
        if IS_WORD[min(code, 65535)]:
            words[-1].append(48 if 48 <= code < 58 else code)
        else:
            words.append([])
    return [hashed(word) for word in words if word]


def expected(codes: list[int], system: list[int]) -> Counter[tuple[int, float]]:
    words = words_of(codes)
    pairs = [(a * PAIR + b) & MASK for a, b in pairwise(words)]
    triples = [(pair * PAIR + word) & MASK for pair, word in zip(pairs, words[2:], strict=False)]
    told = words_of(system)[:40]
    alike = [48 if 48 <= code < 58 else code for code in codes[:160]]
    letters = [
        hashed(alike[place : place + size])
        for size in (2, 4)
        for place in range(len(alike) - size + 1)
    ]
    groups = [
        (0x1F123BB5, 1.4, words[:30] + pairs[:30] + triples[:15]),
        (0x5BD1E995, 0.8, words),
        (0x3C6EF372, 0.6, words[-24:] + pairs[-24:]),
        (0x7F4A7C15, 0.8, words[:1] + pairs[:1] + triples[:1]),
        (0x2545F491, 1.0, letters),
        (0x1F123BB5, 0.7, told + [(a * PAIR + b) & MASK for a, b in pairwise(told)]),
    ]
    return Counter(
        (row_of(value, salt), round(weight / len(values) ** 0.5, 5))
        for salt, weight, values in groups
        for value in values
    )


@settings(max_examples=200, deadline=None)
@given(ANY_CODES, ANY_CODES)
def test_rows_are_those_of_plain_python(codes: list[int], system: list[int]) -> None:
    row, value = weighed_rows(
        np.array(codes, dtype=np.uint32),
        np.array(system, dtype=np.uint32),
        np.array([3, 7, 9], dtype=np.int64),
        2,
        IS_WORD,
    )
    found = Counter(zip(row.tolist(), (round(float(one), 5) for one in value), strict=True))
    shape = {(BUCKETS + 3, 0.4): 1, (BUCKETS + 7, 0.4): 1, (BUCKETS + 9, 0.8): 1}
    assert found == expected(codes, system) + Counter(shape)


def test_probabilities_are_a_softmax_of_the_weights_sum() -> None:
    shape = np.array([0, 1], dtype=np.int64)
    table = np.zeros((BUCKETS + 2, 2), dtype=np.int8)
    table[BUCKETS], table[BUCKETS + 1] = (10, 0), (0, 5)
    nothing = np.array([], dtype=np.uint32)
    scale, bias = np.array([0.5, 1.0], np.float32), np.array([0.0, 0.25], np.float32)
    found = probabilities(nothing, nothing, shape, 1, IS_WORD, table, scale, bias)
    logits = np.array([0.4 * 10 * 0.5, 0.8 * 5 + 0.25])
    assert found == pytest.approx(np.exp(logits) / np.exp(logits).sum(), rel=1e-5)
