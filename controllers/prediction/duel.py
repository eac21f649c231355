"""Champion and challenger: two models judged on the same requests, one of them answers.

A challenger is promoted only when it is better by a margin that matters and that chance does
not explain; it is rolled back, and stays so, when the loss drifts up and the former is better.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import StrEnum
from itertools import islice
from math import copysign, erfc, log1p, sqrt
from statistics import fmean, stdev
from typing import Final, NamedTuple

import msgspec

from hmas.controllers.prediction.adwin import Adwin, Change

MOST_LOSS: Final = 3.0
"""In the logarithm: one request counts as at most a factor of 20 wrong."""


class DuelConfig(msgspec.Struct, frozen=True, kw_only=True):
    """When to believe a challenger; all counts in requests that both were scored on.

    Attributes:
        min_requests: before the first decision.
        window: newest requests that a decision looks at.
        every: between two decisions.
        margin: share by which the mean loss must be lower.
        level: chance that a challenger that is no better is ever promoted; decision number k
            spends ``level / (k (k + 1))`` of it, which sums to ``level`` however often one looks.
        block: consecutive requests that count as one observation, so that sessions and bursts
            do not pass for many independent ones.
        recent: newest requests that decide over a rollback, and how long a drift is a reason.
        drift_delta: ADWIN's confidence.
    """

    min_requests: int = 500
    window: int = 2000
    every: int = 250
    margin: float = 0.03
    level: float = 0.01
    block: int = 25
    recent: int = 200
    drift_delta: float = 0.002


class Standing(StrEnum):
    """Of the challenger: in the shadow, answering, or sent back for good."""

    ABSENT = "absent"
    SHADOW = "shadow"
    PROMOTED = "promoted"
    QUARANTINED = "quarantined"


class Drift(StrEnum):
    """What ADWIN says of the loss of the model that answers."""

    STABLE = "stable"
    WORSE = "worse"
    BETTER = "better"


class _Losses(NamedTuple):
    """Mean losses of one block."""

    incumbent: float
    challenger: float


class DuelState(msgspec.Struct, frozen=True, kw_only=True):
    """What to show; mean losses over the newest ``requests``, None where nothing is known.

    ``drift`` is that of the newest ``recent`` requests; ``drifts`` counts rises since the start.
    """

    standing: Standing
    requests: int
    champion_loss: float | None
    other_loss: float | None
    looks: int
    promotions: int
    rollbacks: int
    drift: Drift
    drifts: int


class Duel:
    """One incumbent, at most one challenger; fed with their losses on each finished request."""

    def __init__(self, config: DuelConfig | None = None, *, has_challenger: bool = True) -> None:
        self._config = config or DuelConfig()
        self._standing = Standing.SHADOW if has_challenger else Standing.ABSENT
        self._blocks: deque[_Losses] = deque(maxlen=self._config.window // self._config.block)
        self._open: list[_Losses] = []
        self._watch = Adwin(self._config.drift_delta)
        self._drift = Drift.STABLE
        self._since_drift = 0
        self._drifts = 0
        self._since_look = 0
        self._looks = 0
        self._promotions = 0
        self._rollbacks = 0

    @property
    def standing(self) -> Standing:
        return self._standing

    @property
    def challenger_answers(self) -> bool:
        return self._standing is Standing.PROMOTED

    def observe(self, incumbent: float, challenger: float | None = None) -> bool:
        """Losses on one finished request; True: from now on the other one answers."""
        incumbent = min(MOST_LOSS, incumbent)
        rival = incumbent if challenger is None else min(MOST_LOSS, challenger)
        self._watch_drift(rival if self.challenger_answers else incumbent)
        self._since_look += 1
        self._open.append(_Losses(incumbent, rival))
        if len(self._open) < self._config.block:
            return False
        self._blocks.append(_mean(self._open))
        self._open.clear()
        return self._judge()

    def state(self) -> DuelState:
        answering, other = self._means(self._blocks)
        return DuelState(
            standing=self._standing,
            requests=len(self._blocks) * self._config.block,
            champion_loss=answering,
            other_loss=None if self._standing is Standing.ABSENT else other,
            looks=self._looks,
            promotions=self._promotions,
            rollbacks=self._rollbacks,
            drift=self._drift,
            drifts=self._drifts,
        )

    def _watch_drift(self, loss: float) -> None:
        self._since_drift += 1
        change = self._watch.update(loss / MOST_LOSS)
        if change is not Change.NONE:
            self._drifts += change is Change.UP and self._drift is not Drift.WORSE
            self._drift = Drift.WORSE if change is Change.UP else Drift.BETTER
            self._since_drift = 0
            self._forget()
        elif self._since_drift > self._config.recent:
            self._drift = Drift.STABLE

    def _forget(self) -> None:
        """What was before a change says little of what comes."""
        for _ in range(len(self._blocks) - self._recent_blocks):
            self._blocks.popleft()

    def _judge(self) -> bool:
        if self._standing is Standing.SHADOW and self._is_time() and self._other_is_better():
            self._promotions += 1
            return self._swap(Standing.PROMOTED)
        if self._standing is Standing.PROMOTED and self._former_is_better():
            self._rollbacks += 1
            return self._swap(Standing.QUARANTINED)
        return False

    def _swap(self, standing: Standing) -> bool:
        self._standing = standing
        self._watch = Adwin(self._config.drift_delta)
        self._drift = Drift.STABLE
        return True

    def _is_time(self) -> bool:
        """Whether a decision is due; each one makes the next harder."""
        enough = len(self._blocks) * self._config.block >= self._config.min_requests
        if not enough or self._since_look < self._config.every:
            return False
        self._since_look = 0
        self._looks += 1
        return True

    def _other_is_better(self) -> bool:
        return self._is_clear(self._blocks, self._config.level / (self._looks * (self._looks + 1)))

    def _former_is_better(self) -> bool:
        """By drift, judged on what is recent; or, without one, as clearly as at a promotion."""
        blocks = self._recent_blocks
        if self._drift is Drift.WORSE and len(self._blocks) >= blocks:
            newest = list(islice(self._blocks, len(self._blocks) - blocks, None))
            if self._is_clear(newest, self._config.level):
                return True
        return self._is_time() and self._other_is_better()

    def _is_clear(self, blocks: Sequence[_Losses], level: float) -> bool:
        answering, other = self._means(blocks)
        if answering is None or other is None or other > answering * (1 - self._config.margin):
            return False
        sign = -1.0 if self.challenger_answers else 1.0
        return by_chance([sign * (one.incumbent - one.challenger) for one in blocks]) < level

    def _means(self, blocks: Sequence[_Losses]) -> tuple[float | None, float | None]:
        """Of the one that answers, and of the other."""
        if not blocks:
            return None, None
        mean = _mean(blocks)
        return mean[::-1] if self.challenger_answers else mean

    @property
    def _recent_blocks(self) -> int:
        return self._config.recent // self._config.block


def _mean(losses: Sequence[_Losses]) -> _Losses:
    return _Losses(*map(fmean, zip(*losses, strict=True)))


def by_chance(gains: Sequence[float]) -> float:
    """One-sided p-value of Student's paired t: the mean of ``gains`` is this high by chance.

    The tail by Wallace's normal approximation (1959), within some percent where it matters here.
    """
    mean, count = fmean(gains), len(gains)
    spread = stdev(gains) if count > 1 else 0.0
    if spread == 0:
        return 0.0 if mean > 0 and count > 1 else 1.0
    freedom = count - 1
    squared = count * (mean / spread) ** 2 / freedom
    scale = (8 * freedom + 1) / (8 * freedom + 3)
    score = copysign(scale * sqrt(freedom * log1p(squared)), mean)
    return 0.5 * erfc(score / sqrt(2))
