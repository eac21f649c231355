"""Quantiles of the most recent values."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque


class SlidingSample:
    """The last ``size`` values, kept in order: O(size) to add (a memory move), O(1) to ask."""

    __slots__ = ("_arrived", "_ordered", "_size")

    def __init__(self, size: int = 256) -> None:
        if size < 1:
            raise ValueError(f"a sample needs room for one value, not {size}")
        self._size = size
        self._arrived: deque[float] = deque()
        self._ordered: list[float] = []

    def __len__(self) -> int:
        return len(self._ordered)

    def add(self, value: float) -> None:
        if len(self._arrived) == self._size:
            oldest = self._arrived.popleft()
            del self._ordered[bisect_left(self._ordered, oldest)]
        self._arrived.append(value)
        insort(self._ordered, value)

    def quantile(self, share: float) -> float | None:
        """Smallest value with at least ``share`` of the sample at or below it; None: empty."""
        if not self._ordered:
            return None
        rank = round(share * len(self._ordered) + 0.5) - 1
        return self._ordered[max(0, min(rank, len(self._ordered) - 1))]
