"""The slow loop's standing choice, the last stable one, cool-down and quarantine."""

from __future__ import annotations

from typing import NamedTuple

from hmas.controllers.config import RollbackConfig
from hmas.controllers.decisions import ResumeState
from hmas.engine.directive import Hints


class Chosen(NamedTuple):
    """A topology with its hints."""

    topology: str
    hints: Hints


class TopologyChoice:
    """Who may be switched to, and when; survives restarts through ``ResumeState``."""

    def __init__(self, config: RollbackConfig, initial: Chosen) -> None:
        self._config = config
        self.current = self.stable = self.previous = initial
        self.chosen_at_s = 0.0
        self.cool_down_until_s = 0.0
        self.rolled_back = False
        self._quarantine: dict[str, float] = {}
        self._failures: dict[str, int] = {}

    def switch(self, chosen: Chosen, now_s: float) -> None:
        """A new choice, not yet proven."""
        self.previous, self.current = self.current, chosen
        self.chosen_at_s = now_s
        self.rolled_back = False

    def tune(self, chosen: Chosen) -> None:
        """The same topology with other hints."""
        self.current = chosen

    def revert(self) -> None:
        """The engine did not take the new choice."""
        self.current = self.previous

    def passed(self) -> None:
        """The current choice survived its guard window."""
        self.stable = self.current
        self._failures.pop(self.current.topology, None)

    def failed(self, now_s: float) -> Chosen:
        """Back to the last stable choice; the current one into quarantine. Returns it."""
        failed = self.current
        count = self._failures[failed.topology] = self._failures.get(failed.topology, 0) + 1
        stay_s = min(
            self._config.quarantine_s * 2 ** (min(count, 32) - 1), self._config.max_quarantine_s
        )
        self._quarantine[failed.topology] = now_s + stay_s
        self.current = self.stable
        self.chosen_at_s = now_s
        self.cool_down_until_s = now_s + self._config.cool_down_s
        self.rolled_back = True
        return failed

    def quarantined(self, now_s: float) -> dict[str, float]:
        """Failed topologies and until when they are refused."""
        self._quarantine = {t: until for t, until in self._quarantine.items() if now_s < until}
        return dict(self._quarantine)

    def cooling_down(self, now_s: float) -> bool:
        return now_s < self.cool_down_until_s

    def restore(self, state: ResumeState) -> None:
        """Go on where a predecessor stopped; an unproven choice counts as unproven still."""
        self.current = self.previous = Chosen(state.topology, state.hints)
        self.stable = Chosen(state.stable_topology, state.stable_hints)
        self.chosen_at_s = state.chosen_at_s
        self.cool_down_until_s = state.cool_down_until_s
        self._quarantine = dict(state.quarantine)
        self._failures = dict(state.failures)

    @property
    def quarantine(self) -> dict[str, float]:
        """As of the last look, for storage."""
        return dict(self._quarantine)

    @property
    def failures(self) -> dict[str, int]:
        """Rollbacks in a row per topology."""
        return dict(self._failures)
