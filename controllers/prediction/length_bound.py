"""Online conformal upper bound on the output length, per prompt-length bucket (paper Eq. 4).

Scores are taken in the logarithm, relative to the model's own upper quantile: one answer of
ten thousand tokens then does not set the bound of a yes-or-no question.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from hmas.controllers.conformal import BUCKETS, ErrorBuffer

EPSILON: Final = 0.1
WINDOW: Final = 300
MIN_BUCKET: Final = 20
STEP: Final = 0.05
MOST_CORRECTION: Final = 0.5
MILLI: Final = 1000
"""Scores are kept as whole thousandths of a natural logarithm."""
COVERAGE_WINDOW: Final = 500
MIN_COVERAGE: Final = 20


class _Scores:
    """Newest scores of one bucket, and how far its epsilon has moved."""

    __slots__ = ("buffer", "correction", "hits")

    def __init__(self) -> None:
        self.buffer = ErrorBuffer(WINDOW)
        self.correction = 0.0
        self.hits: deque[bool] = deque(maxlen=COVERAGE_WINDOW)

    def count(self, *, hit: bool) -> None:
        moved = self.correction + STEP * (EPSILON if hit else EPSILON - 1)
        self.correction = min(MOST_CORRECTION, max(-EPSILON, moved))
        self.hits.append(hit)


class LengthBound:
    """What to add to log(1 + tokens) so that nine of ten requests stay within it.

    The finite-sample corrected quantile of the newest scores of the bucket; its epsilon follows
    the misses of that bucket alone (adaptive conformal inference, Gibbs and Candes 2021), so
    that each bucket comes back to nine in ten after a shift of the mix. A bucket with few
    scores borrows those of all.
    """

    def __init__(self) -> None:
        self._buckets = {bucket: _Scores() for bucket in BUCKETS}
        self._all = _Scores()

    def margin(self, bucket: int) -> float | None:
        """In log(1 + tokens); None while too little is known."""
        own = self._of(bucket)
        chosen = own if len(own.buffer) >= MIN_BUCKET else self._all
        bound = chosen.buffer.bound(EPSILON, chosen.correction)
        return None if bound is None else bound / MILLI

    def observe(self, bucket: int, score: float, *, hit: bool | None) -> None:
        """A request of ``bucket`` ended ``score`` above its prediction, in log(1 + tokens).

        ``hit`` says whether it stayed within the bound that it was given, None: it had none.
        """
        milli = -int(-score * MILLI // 1)
        for scores in (self._of(bucket), self._all):
            scores.buffer.add(milli)
            if hit is not None:
                scores.count(hit=hit)

    def coverage(self, bucket: int | None = None) -> float | None:
        """Share of the newest requests within the bound that they were given."""
        hits = (self._all if bucket is None else self._of(bucket)).hits
        return sum(hits) / len(hits) if len(hits) >= MIN_COVERAGE else None

    def _of(self, bucket: int) -> _Scores:
        return self._buckets[min(bucket, BUCKETS[-1])]
