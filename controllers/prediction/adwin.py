"""ADWIN: has the mean of a stream changed? (Bifet and Gavaldà, SDM 2007, ADWIN2)

Ours, and not river's, because importing river loads pandas and scikit-learn: 146 MB and two
seconds for each gateway worker. The tests hold it against river's.
"""

from __future__ import annotations

from enum import StrEnum
from math import log, sqrt
from typing import Final, NamedTuple

CLOCK: Final = 32
"""Values between two tests."""
MAX_BUCKETS: Final = 5
"""Of one size: one more, and the two oldest become one of twice the size."""
MIN_PART: Final = 5


class Change(StrEnum):
    """Where the mean went since the values that were just forgotten."""

    NONE = "none"
    UP = "up"
    DOWN = "down"


class _Bucket(NamedTuple):
    """``size`` consecutive values: their sum, and that of their squares."""

    size: int
    total: float
    squares: float

    def joined(self, other: _Bucket) -> _Bucket:
        return _Bucket(
            self.size + other.size, self.total + other.total, self.squares + other.squares
        )


EMPTY: Final = _Bucket(0, 0.0, 0.0)


class Adwin:
    """A window of values in [0, 1] that grows while their mean stays, and is cut when it moves.

    Without a change each test cuts wrongly with a probability below ``delta``. Memory is
    logarithmic in the window's length, a value costs about a microsecond.
    """

    def __init__(self, delta: float = 0.002) -> None:
        self._delta = delta
        self._rows: list[list[_Bucket]] = [[]]
        self._all = EMPTY
        self._tick = 0

    @property
    def width(self) -> int:
        """Values in the window."""
        return self._all.size

    @property
    def mean(self) -> float:
        """Of the values in the window, 0 of none."""
        return self._all.total / self._all.size if self._all.size else 0.0

    def update(self, value: float) -> Change:
        """Take one more value; says whether the window was cut, and where the mean went."""
        self._add(_Bucket(1, value, value * value))
        self._tick += 1
        if self._tick % CLOCK:
            return Change.NONE
        before = self.mean
        if not self._cut():
            return Change.NONE
        while self._cut():
            pass
        return Change.UP if self.mean > before else Change.DOWN

    def _add(self, bucket: _Bucket) -> None:
        self._all = self._all.joined(bucket)
        self._rows[0].append(bucket)
        for level, row in enumerate(self._rows):
            if len(row) <= MAX_BUCKETS:
                return
            if level + 1 == len(self._rows):
                self._rows.append([])
            self._rows[level + 1].append(row.pop(0).joined(row.pop(0)))

    def _cut(self) -> bool:
        """Forget the oldest bucket if some older part differs from the newer one."""
        if not self._has_two_parts():
            return False
        oldest = next(row for row in reversed(self._rows) if row).pop(0)
        self._all = _Bucket(
            self._all.size - oldest.size,
            self._all.total - oldest.total,
            self._all.squares - oldest.squares,
        )
        return True

    def _has_two_parts(self) -> bool:
        whole = self._all
        if whole.size < 2 * MIN_PART:
            return False
        variance = max(0.0, whole.squares / whole.size - self.mean**2)
        doubt = log(2 * log(whole.size) / self._delta)
        older, total = 0, 0.0
        for row in reversed(self._rows):
            for bucket in row:
                older, total = older + bucket.size, total + bucket.total
                newer = whole.size - older
                if newer < MIN_PART:
                    return False
                difference = abs(total / older - (whole.total - total) / newer)
                if older >= MIN_PART and difference > _bound(older, newer, variance, doubt):
                    return True
        return False


def _bound(older: int, newer: int, variance: float, doubt: float) -> float:
    """What chance may make of the difference of two means (equation 3.1 of the paper)."""
    inverse = 1 / (older - MIN_PART + 1) + 1 / (newer - MIN_PART + 1)
    return sqrt(2 * inverse * variance * doubt) + 2 / 3 * inverse * doubt
