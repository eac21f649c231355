"""A linear model of log length that learns from every finished request of a tenant."""

from __future__ import annotations

from math import sqrt
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hmas.controllers.prediction.kernels import OwnWords, own_places, sum_at
from hmas.controllers.prediction.length_features import BUCKETS

TABLE: Final = BUCKETS << 2
RATE: Final = 0.15
FIRST_SQUARE: Final = 0.01
_SPREAD: Final = 40503
"""Odd, so that words of one tenant keep apart."""
MOST_ERROR: Final = 1.0
"""In log(1 + tokens): a larger error teaches no more than this."""


class OnlineWords:
    """Corrects a prediction by the words of the prompt, each tenant with weights of its own.

    AdaGrad on Huber's loss over hashed words; tenants share a table of fixed size, so that a
    rare collision costs accuracy and never memory.
    """

    def __init__(self) -> None:
        self._weights = np.zeros(TABLE, dtype=np.float32)
        self._squares = np.full(TABLE, FIRST_SQUARE, dtype=np.float32)

    def own(self, tenant: str) -> OwnWords:
        """The table, and how a tenant's words are scattered over it."""
        return self._weights, _SPREAD, crc32(tenant.encode("utf-8", "replace")) >> 1

    def places(self, tenant: str, buckets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the words of a tenant's prompt have their weights."""
        _, spread, salt = self.own(tenant)
        return own_places(buckets, spread, salt, TABLE)

    def correction(self, places: NDArray[np.int64]) -> float:
        return sum_at(self._weights, places)

    def learn(self, places: NDArray[np.int64], error: float) -> None:
        """``error`` is truth minus corrected prediction."""
        scale = 1 / sqrt(max(1, len(places)))
        gradient = max(-MOST_ERROR, min(MOST_ERROR, error)) * scale
        squares = self._squares.take(places) + gradient * gradient
        self._squares[places] = squares
        self._weights[places] += RATE * scale * gradient / np.sqrt(squares)
