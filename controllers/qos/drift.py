"""Has the workload left its recent baseline? One slow baseline per signal of V_long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from hmas.controllers.views import Drift, GroupView, VLong

WARM_WINDOWS: Final = 6
MEMORY: Final = 0.1
"""Weight of the newest window in the baseline."""
DEVIATIONS: Final = 3.0
MIN_CHANGE: Final = 0.25
MIX_DISTANCE: Final = 0.2
"""Total variation distance between two compositions that counts as drift."""
MIN_ARRIVALS: Final = 30
COVERAGE_SLACK: Final = 0.1


class LevelBaseline:
    """Exponentially weighted mean and deviation of one number."""

    def __init__(self) -> None:
        self._seen = 0
        self._mean = 0.0
        self._variance = 0.0

    def drifted(self, value: float | None, floor: float = 0.0) -> bool:
        """Whether ``value`` is far off; it then joins the baseline. ``floor`` is absolute."""
        if value is None:
            return False
        off = abs(value - self._mean)
        limit = max(
            DEVIATIONS * math.sqrt(self._variance), MIN_CHANGE * abs(self._mean), floor, 1e-9
        )
        drifted = self._seen >= WARM_WINDOWS and off > limit
        self._join(value)
        return drifted

    def _join(self, value: float) -> None:
        self._seen += 1
        weight = max(MEMORY, 1.0 / self._seen)
        delta = value - self._mean
        self._mean += weight * delta
        self._variance = (1 - weight) * (self._variance + weight * delta * delta)


class MixBaseline:
    """Exponentially weighted composition."""

    def __init__(self) -> None:
        self._seen = 0
        self._shares: dict[str, float] = {}

    def drifted(self, shares: Mapping[str, float]) -> bool:
        names = self._shares.keys() | shares.keys()
        distance = sum(abs(self._shares.get(n, 0.0) - shares.get(n, 0.0)) for n in names) / 2
        self._seen += 1
        weight = max(MEMORY, 1.0 / self._seen)
        mixed = {
            n: (1 - weight) * self._shares.get(n, 0.0) + weight * shares.get(n, 0.0) for n in names
        }
        self._shares = {name: share for name, share in mixed.items() if share > 1e-4}
        return self._seen > WARM_WINDOWS and distance > MIX_DISTANCE


class DriftDetector:
    """Flags for each completed window; sudden changes only, a baseline follows slow ones."""

    def __init__(self, epsilon: float) -> None:
        self._least_coverage = 1 - epsilon - COVERAGE_SLACK
        self._levels = {
            drift: LevelBaseline()
            for drift in (
                Drift.ARRIVAL_RATE,
                Drift.PROMPT_LENGTH,
                Drift.OUTPUT_LENGTH,
                Drift.VIOLATION_RATE,
            )
        }
        self._mixes = {drift: MixBaseline() for drift in (Drift.TASK_MIX, Drift.TENANT_MIX)}

    def check(self, window: VLong) -> list[Drift]:
        levels, found = self._levels, []
        if levels[Drift.ARRIVAL_RATE].drifted(window.rps):
            found.append(Drift.ARRIVAL_RATE)
        if levels[Drift.VIOLATION_RATE].drifted(window.violation_rate, floor=0.1):
            found.append(Drift.VIOLATION_RATE)
        if window.arrivals >= MIN_ARRIVALS:
            found += self._composition(window)
        if window.coverage is not None and window.coverage < self._least_coverage:
            found.append(Drift.PREDICTION_ERROR)
        return found

    def _composition(self, window: VLong) -> list[Drift]:
        found = []
        if self._levels[Drift.PROMPT_LENGTH].drifted(window.prompt.mean):
            found.append(Drift.PROMPT_LENGTH)
        if self._levels[Drift.OUTPUT_LENGTH].drifted(window.output.mean):
            found.append(Drift.OUTPUT_LENGTH)
        if self._mixes[Drift.TASK_MIX].drifted(_shares(window.tasks)):
            found.append(Drift.TASK_MIX)
        if self._mixes[Drift.TENANT_MIX].drifted(_shares(window.tenants)):
            found.append(Drift.TENANT_MIX)
        return found


def _shares(groups: Mapping[str, GroupView]) -> dict[str, float]:
    return {name: group.share for name, group in groups.items()}
