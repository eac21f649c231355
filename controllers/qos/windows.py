"""Sliding windows and sketches that cost about a microsecond per observation."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from typing import Final

from ddsketch import LogCollapsingLowestDenseDDSketch

RELATIVE_ACCURACY: Final = 0.01
BIN_LIMIT: Final = 1024


def nearest_rank(ordered: Sequence[float], share: float) -> float | None:
    """The ``share`` quantile of sorted values, None without any."""
    if not ordered:
        return None
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class SumWindow:
    """Column sums over the rows of the last ``span_s`` seconds.

    Rows from further than ``span_s`` in the future are dropped too: after a step of the
    clock backwards a window must not keep old rows for ever.
    """

    __slots__ = ("_rows", "span_s", "sums")

    def __init__(self, span_s: float, columns: int) -> None:
        self.span_s = span_s
        self.sums = [0.0] * columns
        self._rows: deque[tuple[float, tuple[float, ...]]] = deque()

    def add(self, at_s: float, *row: float) -> None:
        self._rows.append((at_s, row))
        sums = self.sums
        for column, value in enumerate(row):
            sums[column] += value

    def evict(self, now_s: float) -> list[float]:
        """Forget what left the window; the sums of what remains."""
        rows, sums = self._rows, self.sums
        while rows and abs(now_s - rows[0][0]) > self.span_s:
            for column, value in enumerate(rows.popleft()[1]):
                sums[column] -= value
        if not rows:
            self.sums = sums = [0.0] * len(sums)
        return sums

    def __len__(self) -> int:
        return len(self._rows)


class SortedWindow:
    """The newest values of the last ``span_s`` seconds, kept sorted; at most ``limit``."""

    __slots__ = ("_limit", "_rows", "_sorted", "span_s")

    def __init__(self, span_s: float = math.inf, limit: int = 2048) -> None:
        self.span_s = span_s
        self._limit = limit
        self._rows: deque[tuple[float, float]] = deque()
        self._sorted: list[float] = []

    def add(self, at_s: float, value: float) -> None:
        if len(self._rows) >= self._limit:
            self._drop_oldest()
        self._rows.append((at_s, value))
        insort(self._sorted, value)

    def evict(self, now_s: float) -> None:
        while self._rows and abs(now_s - self._rows[0][0]) > self.span_s:
            self._drop_oldest()

    def quantile(self, share: float) -> float | None:
        return nearest_rank(self._sorted, share)

    def share_below(self, value: float) -> float | None:
        """Share of the values that are less than ``value``."""
        if not self._sorted:
            return None
        return bisect_left(self._sorted, value) / len(self._sorted)

    def values(self) -> list[float]:
        """Oldest first."""
        return [value for _, value in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def _drop_oldest(self) -> None:
        _, value = self._rows.popleft()
        del self._sorted[bisect_left(self._sorted, value)]


class QuantileSketch:
    """Quantiles of positive values within 1 % relative error; bounded memory (DDSketch)."""

    __slots__ = ("_sketch",)

    def __init__(self) -> None:
        self._sketch = LogCollapsingLowestDenseDDSketch(RELATIVE_ACCURACY, BIN_LIMIT)

    def add(self, value: float) -> None:
        self._sketch.add(value)

    def quantile(self, share: float) -> float | None:
        """None without values."""
        found: float | None = self._sketch.get_quantile_value(share)
        return found


class Moments:
    """Running mean and variance (Welford)."""

    __slots__ = ("_m2", "_mean", "count")

    def __init__(self) -> None:
        self.count = 0
        self._mean = 0.0
        self._m2 = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        delta = value - self._mean
        self._mean += delta / self.count
        self._m2 += delta * (value - self._mean)

    @property
    def mean(self) -> float | None:
        return self._mean if self.count else None

    @property
    def variance(self) -> float | None:
        """Of the population; None without values."""
        return max(0.0, self._m2 / self.count) if self.count else None

    @property
    def variation(self) -> float | None:
        """Coefficient of variation; None without values or with a mean of 0."""
        if not self.count or self._mean <= 0:
            return None
        return math.sqrt(max(0.0, self._m2 / self.count)) / self._mean
