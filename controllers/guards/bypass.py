"""Emergency bypass xi: plain FCFS with unbounded controls (paper C.2), with hysteresis."""

from __future__ import annotations

from typing import Final, NamedTuple

from hmas.controllers.config import BypassConfig
from hmas.controllers.views import VShort

MAX_BACK_OFF_S: Final = 7200.0


class Condition(NamedTuple):
    """One alarm: ``on`` enters, ``off`` allows to leave; neither while it is in between."""

    on: bool
    off: bool
    confirm_s: float
    words: str


class BypassGuard:
    """On when an alarm held long enough; off after a minimum stay with all alarms off.

    A stay ends after ``max_stay_s`` in any case: under plain FCFS an overload may never
    clear, and H-MAS may do better. A stay that brought no more goodput than there was before
    is not repeated for ``back_off_s``, doubled each time. Signals that are missing neither
    enter nor leave.
    """

    def __init__(self, config: BypassConfig, min_samples: int) -> None:
        self._config = config
        self._min_samples = min_samples
        self._since_s: dict[str, float] = {}
        self._changed_s = float("-inf")
        self._barred_until_s = float("-inf")
        self._back_off_s = config.back_off_s
        self._goodput_before = 0.0
        self.active = False
        self.reason = ""

    def update(self, view: VShort, *, restrained: bool) -> bool:
        """True when the state changed. ``restrained``: something of ours is in force.

        Where the engine already runs plain FCFS unbounded, bypass would change nothing.
        """
        if not self._config.enabled:
            return False
        return self._leave(view) if self.active else self._enter(view, restrained=restrained)

    def request(self, reason: str, now_s: float) -> bool:
        """A meta-controller asks for bypass; granted unless the last stay ended just now."""
        if self.active or not self._config.enabled or self._just_changed(now_s):
            return False
        self._switch(on=True, reason=reason, now_s=now_s)
        return True

    def _enter(self, view: VShort, *, restrained: bool) -> bool:
        for name, condition in self._conditions(view).items():
            barred = name != "stuck" and view.at_s < self._barred_until_s
            if barred or not (condition.on and restrained):
                self._since_s.pop(name, None)
                continue
            since_s = self._since_s.setdefault(name, view.at_s)
            confirmed = view.at_s - since_s >= condition.confirm_s
            if confirmed and (name == "stuck" or not self._just_changed(view.at_s)):
                self._goodput_before = view.goodput_per_s or 0.0
                self._switch(on=True, reason=condition.words, now_s=view.at_s)
                return True
        return False

    def _leave(self, view: VShort) -> bool:
        stayed_s = view.at_s - self._changed_s
        if stayed_s >= self._config.max_stay_s:
            self._learn(view)
            self._switch(on=False, reason=f"tried again after {stayed_s:.0f} s", now_s=view.at_s)
            return True
        measured = view.running is not None
        clear = measured and all(c.off for c in self._conditions(view).values())
        if clear and stayed_s >= self._config.min_stay_s:
            self._learn(view)
            self._switch(on=False, reason=f"alarms clear after {stayed_s:.0f} s", now_s=view.at_s)
            return True
        return False

    def _learn(self, view: VShort) -> None:
        if (view.goodput_per_s or 0.0) > self._goodput_before:
            self._back_off_s = self._config.back_off_s
            return
        self._barred_until_s = view.at_s + self._back_off_s
        self._back_off_s = min(2 * self._back_off_s, MAX_BACK_OFF_S)

    def _just_changed(self, now_s: float) -> bool:
        return 0 <= now_s - self._changed_s < self._config.min_stay_s

    def _switch(self, *, on: bool, reason: str, now_s: float) -> None:
        self.active, self.reason = on, reason
        self._changed_s = now_s
        self._since_s.clear()

    def _conditions(self, view: VShort) -> dict[str, Condition]:
        return {
            "stuck": self._stuck(view),
            "violations": self._violations(view),
        }

    def _stuck(self, view: VShort) -> Condition:
        stuck = bool(view.waiting) and view.running == 0
        words = f"{view.waiting} requests wait and none runs"
        return Condition(stuck, not stuck, self._config.stuck_after_s, words)

    def _violations(self, view: VShort) -> Condition:
        config, rate = self._config, view.violation_rate
        if rate is None or view.samples < self._min_samples:
            return Condition(on=False, off=True, confirm_s=config.confirm_s, words="")
        words = f"violation rate {rate:.2f} of {view.samples}"
        on, off = rate >= config.violation_enter, rate <= config.violation_exit
        return Condition(on, off, config.confirm_s, words)
