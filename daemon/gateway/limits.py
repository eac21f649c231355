"""How many requests are inside, and when to come back when that is too many."""

from __future__ import annotations

import math
import random
from collections import deque
from typing import Final, Protocol

WINDOW_S: Final = 10.0
JITTER: Final = 0.25


class Cells(Protocol):
    """A list, or shared memory, of whole numbers."""

    def __getitem__(self, index: int, /) -> int: ...

    def __setitem__(self, index: int, value: int, /) -> None: ...


class CountTable:
    """Counters that all workers see: each writes its own row and reads the column's sum.

    ``cells`` is shared memory of ``rows · columns`` integers when there are several workers,
    a plain list otherwise. One writer per cell, so no locks; a sum may be a moment old.
    """

    def __init__(
        self, columns: int, *, rows: int = 1, row: int = 0, cells: Cells | None = None
    ) -> None:
        self._columns = columns
        self._size = rows * columns
        self._cells: Cells = cells if cells is not None else [0] * self._size
        self._start = row * columns
        for column in range(columns):
            self._cells[self._start + column] = 0

    def add(self, column: int, delta: int) -> None:
        self._cells[self._start + column] += delta

    def own(self, column: int) -> int:
        return self._cells[self._start + column]

    def total(self, column: int) -> int:
        cells = self._cells
        if self._size == self._columns:
            return cells[column]
        return sum(cells[cell] for cell in range(column, self._size, self._columns))


class DrainRate:
    """Requests that left in the last seconds, and those turned away meanwhile."""

    def __init__(self, cap_s: int, rng: random.Random) -> None:
        self._cap_s = cap_s
        self._rng = rng
        self._left: deque[float] = deque()
        self._turned_away: deque[float] = deque()

    def left(self, now_s: float) -> None:
        self._left.append(now_s)
        self._forget(now_s)

    def retry_after_s(self, now_s: float) -> int:
        """Whole seconds until the turned-away ones could be in: their number over the rate.

        Jittered upwards so that they do not all come back at once, at least 1, capped; with
        nothing leaving at all, the cap.
        """
        self._turned_away.append(now_s)
        self._forget(now_s)
        if not self._left:
            return self._cap_s
        rate_per_s = len(self._left) / WINDOW_S
        wait_s = len(self._turned_away) / rate_per_s
        return max(1, min(self._cap_s, math.ceil(wait_s * (1 + JITTER * self._rng.random()))))

    def _forget(self, now_s: float) -> None:
        for times in (self._left, self._turned_away):
            while times and times[0] < now_s - WINDOW_S:
                times.popleft()
