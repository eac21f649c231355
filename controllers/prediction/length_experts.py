"""Several opinions of a length, weighed by how wrong each was lately for the same traffic."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from math import exp
from typing import Final

MAX_GROUPS: Final = 4096
MEMORY: Final = 0.995
"""What a loss still weighs one request later: about the last 200 requests count."""
SHARPNESS: Final = 1.5
MOST_LOSS: Final = 4.0
MIN_OWN: Final = 16
"""A group with fewer losses is weighed as all requests together."""


class _Losses:
    """Discounted losses of each expert, and the scale of the lengths that they are relative to."""

    __slots__ = ("count", "losses", "scale")

    def __init__(self, prior: Sequence[float]) -> None:
        self.losses = list(prior)
        self.scale = 0.0
        self.count = 0

    def add(self, opinions: Sequence[float], truth: float) -> None:
        self.count += 1
        self.scale += (truth - self.scale) / min(self.count, 200)
        scale = max(1.0, self.scale)
        self.losses = [
            MEMORY * loss + min(MOST_LOSS, abs(opinion - truth) / scale)
            for loss, opinion in zip(self.losses, opinions, strict=True)
        ]


class WeighedExperts:
    """Exponentially weighted average of opinions (Cesa-Bianchi and Lugosi 2006, chapter 2).

    The loss is the pinball loss at the median, |opinion - truth|, relative to the mean length
    of the group; it is convex, so the average is never worse than the mean loss of its parts,
    and not far from the best of them. ``prior`` are losses that the experts begin with.
    """

    def __init__(self, prior: Sequence[float], max_groups: int = MAX_GROUPS) -> None:
        self._prior = tuple(prior)
        self._groups: OrderedDict[Hashable, _Losses] = OrderedDict()
        self._everyone = _Losses(prior)
        self._max_groups = max_groups

    def weights(self, group: Hashable) -> list[float]:
        """One per expert, sum 1."""
        own = self._groups.get(group)
        losses = (own if own is not None and own.count >= MIN_OWN else self._everyone).losses
        best = min(losses)
        raw = [exp(SHARPNESS * (best - loss)) for loss in losses]
        total = sum(raw)
        return [one / total for one in raw]

    def observe(self, group: Hashable, opinions: Sequence[float], truth: float) -> None:
        own = self._groups.pop(group, None)
        if own is None:
            own = _Losses(self._prior)
            if len(self._groups) >= self._max_groups:
                self._groups.popitem(last=False)
        self._groups[group] = own
        own.add(opinions, truth)
        self._everyone.add(opinions, truth)
