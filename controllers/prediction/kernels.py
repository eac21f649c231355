"""The loops of prediction, as machine code: hashed words, trees, and all of a length at once.

They stand in one file, because the cache of compiled code is renewed when its file changes and
not when another one does.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hmas.controllers.compiled import compiled

POLYNOMIAL: Final = 0xEDB88320
"""Of CRC-32 as in zlib, its bits reversed."""

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
Trees: TypeAlias = tuple[NDArray[np.uint8], Floats, Floats, NDArray[np.float64]]
"""Features and borders [trees, depth], leaves [trees * 2**depth, outputs], bias [outputs]."""
LengthArrays: TypeAlias = tuple[Floats, float, Trees, NDArray[np.float64], Trees]
"""Weights of the words and their bias, the tool call's trees, its knots [2, knots], the length's
trees."""
OwnWords: TypeAlias = tuple[Floats, int, int]
"""A table of weights, a power of two long; an odd number; a salt."""
Guess: TypeAlias = tuple[float, float, float]
"""Median and upper quantile of log(1 + tokens) as the trees say it; probability of a tool call."""


def _crc_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(POLYNOMIAL), table >> 1)
    return table.astype(np.uint32)


CRC_TABLE: Final = _crc_table()


@compiled
def distinct_buckets(said: NDArray[np.uint8], buckets: int, table: NDArray[np.uint32]) -> Places:
    """CRC-32 of each piece of ``said`` modulo ``buckets``, each once.

    Args:
        said: pieces of text, a zero byte after each.
        buckets: a power of two.
        table: ``CRC_TABLE``.
    """
    found = np.empty(len(said), dtype=np.int64)
    is_known = np.zeros(buckets, dtype=np.bool_)
    count, crc = 0, np.uint32(0xFFFFFFFF)
    for byte in said:
        if byte:
            crc = table[(crc ^ byte) & np.uint32(255)] ^ (crc >> np.uint32(8))
            continue
        bucket = (crc ^ np.uint32(0xFFFFFFFF)) & np.uint32(buckets - 1)
        crc = np.uint32(0xFFFFFFFF)
        if not is_known[bucket]:
            is_known[bucket] = True
            found[count] = bucket
            count += 1
    return found[:count]


@compiled
def sum_at(weights: Floats, places: Places) -> float:
    """The sum of ``weights[places]``."""
    total = 0.0
    for place in places:
        total += weights[place]
    return total


@compiled
def own_places(buckets: Places, spread: int, salt: int, table: int) -> Places:
    """``buckets`` scattered over a table of ``table`` places, a power of two; each salt its way."""
    places = np.empty(len(buckets), dtype=np.int64)
    for number in range(len(buckets)):
        places[number] = (buckets[number] * spread ^ salt) & (table - 1)
    return places


@compiled
def leaf_sums(row: Floats, trees: Trees) -> NDArray[np.float64]:
    """Every output of an ensemble of symmetric trees: a number above a border sets its bit."""
    features, borders, leaves, bias = trees
    found = bias.copy()
    count, depth = features.shape
    for tree in range(count):
        leaf = tree
        for split in range(depth - 1, -1, -1):
            leaf = 2 * leaf + (row[features[tree, split]] > borders[tree, split])
        for output in range(len(found)):
            found[output] += leaves[leaf, output]
    return found


@compiled
def between_knots(raw: float, knots: NDArray[np.float64]) -> float:
    """The line between the two knots around ``raw``, their own value beyond them."""
    place = 0
    while place < knots.shape[1] and knots[0, place] <= raw:
        place += 1
    if place == 0 or place == knots.shape[1]:
        return float(knots[1, min(place, knots.shape[1] - 1)])
    low, high = knots[0, place - 1], knots[0, place]
    share = (raw - low) / (high - low) if high > low else 1.0
    return float(knots[1, place - 1] + share * (knots[1, place] - knots[1, place - 1]))


@compiled
def length_guess(row: Floats, buckets: Places, arrays: LengthArrays) -> Guess:
    """What the trained model says of a request.

    Args:
        row: its numbers, then its session's, then room for two: what the words say of the
            length, and the probability of a tool call, for which 1 there means that tools
            are offered.
        buckets: its words.
    """
    words, words_bias, tools, knots, lengths = arrays
    row[-2] = words_bias + sum_at(words, buckets)
    if row[-1] > 0:
        row[-1] = between_knots(leaf_sums(row, tools)[0], knots)
    found = leaf_sums(row, lengths)
    return found[0], found[1], float(row[-1])


@compiled
def length_reading(  # noqa: PLR0917  machine code takes no keywords cheaply
    said: NDArray[np.uint8],
    row: Floats,
    table: NDArray[np.uint32],
    arrays: LengthArrays,
    own: OwnWords,
    buckets: int,
) -> tuple[Guess, Places, Places, float]:
    """:func:`length_guess` from the words themselves; one call costs less than several.

    Returns:
        The guess, the words' buckets, their places among the tenant's own weights, and the sum
        of these weights.
    """
    found = distinct_buckets(said, buckets, table)
    guess = length_guess(row, found, arrays)
    weights, spread, salt = own
    places = own_places(found, spread, salt, len(weights))
    return guess, found, places, sum_at(weights, places)
