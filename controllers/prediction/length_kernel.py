"""The loops of length prediction, as machine code."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hmas.controllers.compiled import compiled

POLYNOMIAL: Final = 0xEDB88320
"""Of CRC-32 as in zlib, its bits reversed."""


def _crc_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(POLYNOMIAL), table >> 1)
    return table.astype(np.uint32)


CRC_TABLE: Final = _crc_table()


@compiled
def distinct_buckets(
    said: NDArray[np.uint8], buckets: int, table: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """CRC-32 of each piece of ``said`` modulo ``buckets``, each once, in ascending order.

    Args:
        said: pieces of text, a zero byte after each.
        buckets: a power of two.
        table: ``CRC_TABLE``.
    """
    found = np.empty(len(said), dtype=np.int64)
    count, crc = 0, np.uint32(0xFFFFFFFF)
    for byte in said:
        if byte:
            crc = table[(crc ^ byte) & np.uint32(255)] ^ (crc >> np.uint32(8))
        else:
            found[count] = (crc ^ np.uint32(0xFFFFFFFF)) & np.uint32(buckets - 1)
            count, crc = count + 1, np.uint32(0xFFFFFFFF)
    found = found[:count]
    found.sort()
    distinct = 0
    for place in range(count):
        if place == 0 or found[place] != found[distinct - 1]:
            found[distinct] = found[place]
            distinct += 1
    return found[:distinct]


@compiled
def sum_at(weights: NDArray[np.float32], places: NDArray[np.int64]) -> float:
    """The sum of ``weights[places]``."""
    total = 0.0
    for place in places:
        total += weights[place]
    return total


@compiled
def own_places(buckets: NDArray[np.int64], spread: int, salt: int, table: int) -> NDArray[np.int64]:
    """``buckets`` scattered over a table of ``table`` places, a power of two; each salt its way."""
    places = np.empty(len(buckets), dtype=np.int64)
    for number in range(len(buckets)):
        places[number] = (buckets[number] * spread ^ salt) & (table - 1)
    return places
