"""Online bucketed conformal bound on output lengths (paper Eq. 4, B.3, Algorithm 2 A-B).

Scores are ``e = l_used - l_pred`` with ``l_used`` the tokens that came out. A request cut by
its own ``max_tokens`` needs no special care: the fence bounds its reservation by the same
limit, so the used length is exactly what the memory had to hold, and ``e <= q`` still implies
that it fitted. Only a request that its client aborted is censored: its error is a lower bound.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from hmas.controllers.config import CalibrationConfig
from hmas.engine.features import LENGTH_BUCKET_EDGES

BUCKETS: Final = range(len(LENGTH_BUCKET_EDGES) + 1)

MOST_CORRECTION: Final = 0.4
"""However long nothing was missed, at least some bound remains."""

_COVERAGE_WINDOW: Final = 500
_MIN_COVERAGE: Final = 20


class ErrorBuffer:
    """D_b: the newest errors of one bucket, in order of arrival and of size."""

    __slots__ = ("_newest", "_sorted")

    def __init__(self, limit: int, errors: Sequence[int] = ()) -> None:
        self._newest: deque[int] = deque(errors, maxlen=limit)
        self._sorted = sorted(self._newest)

    def add(self, error: int) -> None:
        if len(self._newest) == self._newest.maxlen:
            del self._sorted[bisect_left(self._sorted, self._newest[0])]
        self._newest.append(error)
        insort(self._sorted, error)

    def bound(self, epsilon: float, correction: float = 0.0) -> int | None:
        """The finite-sample corrected quantile: rank ``ceil((n + 1)(1 - epsilon))`` of n.

        None when n is too small for any finite bound to hold with that confidence.
        ``correction`` is added to epsilon; past the largest error of the buffer it ends there.
        """
        count = len(self._sorted)
        if math.ceil((count + 1) * (1 - epsilon)) > count:
            return None
        rank = math.ceil((count + 1) * (1 - epsilon - correction))
        return self._sorted[min(count, max(rank, 1)) - 1]

    def errors(self) -> list[int]:
        return list(self._newest)

    def __len__(self) -> int:
        return len(self._newest)


class ConformalBound:
    """``q_{1-epsilon}(D_b)`` per prompt-length bucket, with its coverage measured live.

    A bucket with fewer than ``min_bucket`` errors borrows the bound of all buckets together.

    Buffers follow a shift of the mix only as fast as they fill, and the short requests of the
    new mix finish first. So epsilon itself follows the misses (adaptive conformal inference,
    Gibbs and Candes 2021): each miss lowers it by ``step * (1 - epsilon)``, each hit raises it
    by ``step * epsilon``, which brings the long-run coverage to 1 - epsilon under any shift.
    """

    def __init__(
        self, config: CalibrationConfig, errors: Mapping[int, Sequence[int]] | None = None
    ) -> None:
        self._config = config
        stored = errors or {}
        self._buckets = {b: ErrorBuffer(config.window, stored.get(b, ())) for b in BUCKETS}
        merged = [error for bucket in BUCKETS for error in stored.get(bucket, ())]
        self._all = ErrorBuffer(config.window, _thinned(merged, config.window))
        self._hits: deque[bool] = deque(maxlen=_COVERAGE_WINDOW)
        self._hit_count = 0
        self._correction = 0.0

    def observe(self, bucket: int, error: int) -> None:
        """A request of ``bucket`` completed ``error`` tokens above its prediction."""
        bucket = min(bucket, BUCKETS[-1])
        bound = self.bound(bucket)
        if bound is not None:
            self._count(hit=error <= bound)
        self._buckets[bucket].add(error)
        self._all.add(error)

    def observe_censored(self, bucket: int, at_least: int) -> None:
        """An aborted request: kept only where it already outgrew its bound, a certain miss."""
        bound = self.bound(bucket)
        if bound is not None and at_least > bound:
            self.observe(bucket, at_least)

    def bound(self, bucket: int, epsilon: float | None = None) -> int | None:
        """Tokens to add to a prediction; None while too little is known."""
        epsilon = self._config.epsilon if epsilon is None else epsilon
        own = self._buckets[min(bucket, BUCKETS[-1])]
        if len(own) >= self._config.min_bucket:
            bound = own.bound(epsilon, self._correction)
            if bound is not None:
                return bound
        return self._all.bound(epsilon, self._correction)

    def export(self, epsilon: float | None = None) -> dict[int, int] | None:
        """The fence for a directive: every bucket, or None while too little is known."""
        bounds = {bucket: self.bound(bucket, epsilon) for bucket in BUCKETS}
        known = {bucket: bound for bucket, bound in bounds.items() if bound is not None}
        return known if len(known) == len(bounds) else None

    @property
    def coverage(self) -> float | None:
        """Share of the last requests within the bound that was live when they completed."""
        return self._hit_count / len(self._hits) if len(self._hits) >= _MIN_COVERAGE else None

    @property
    def samples(self) -> int:
        return len(self._all)

    def errors(self) -> dict[int, list[int]]:
        """D_b for storage; buckets without errors are left out."""
        return {b: buffer.errors() for b, buffer in self._buckets.items() if len(buffer)}

    def _count(self, *, hit: bool) -> None:
        epsilon = self._config.epsilon
        moved = self._correction + self._config.adaptation * (epsilon if hit else epsilon - 1)
        self._correction = min(MOST_CORRECTION, max(-epsilon, moved))
        if len(self._hits) == self._hits.maxlen:
            self._hit_count -= self._hits[0]
        self._hits.append(hit)
        self._hit_count += hit


def _thinned(errors: Sequence[int], limit: int) -> Sequence[int]:
    """At most ``limit`` of them, evenly spread over all buckets."""
    step = max(1, math.ceil(len(errors) / limit))
    return errors[::step]
