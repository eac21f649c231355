"""Runs both guards each cycle and keeps what they had to say. A guard that raises denies."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from hmas.controllers.config import ControlConfig
from hmas.controllers.decisions import GuardEvent, GuardKind
from hmas.controllers.guards.bypass import BypassGuard
from hmas.controllers.guards.choice import TopologyChoice
from hmas.controllers.guards.rollback import Judgement, RollbackGuard, Verdict
from hmas.controllers.views import VShort

logger = logging.getLogger(__name__)

_KINDS = {
    Verdict.PASS: GuardKind.ROLLBACK_PASS,
    Verdict.FAIL: GuardKind.ROLLBACK_FAIL,
    Verdict.INCONCLUSIVE: GuardKind.ROLLBACK_INCONCLUSIVE,
    Verdict.ERROR: GuardKind.ROLLBACK_ERROR,
}


class Bypass(Protocol):
    """See :class:`~hmas.controllers.guards.bypass.BypassGuard`."""

    active: bool
    reason: str

    def update(self, view: VShort, *, restrained: bool) -> bool: ...

    def request(self, reason: str, now_s: float) -> bool: ...


class Rollback(Protocol):
    """See :class:`~hmas.controllers.guards.rollback.RollbackGuard`."""

    open: bool

    def watch(self, topology: str, before: VShort | None, now_s: float) -> None: ...

    def cancel(self) -> None: ...

    def check(self, view: VShort) -> Judgement | None: ...


class GuardWatch:
    """Bypass and rollback of one engine.

    While a guard raises, topology switches are denied (``denied`` says why) and the state it
    left behind stays: an unmeasured choice is neither good nor bad.
    """

    def __init__(
        self,
        engine_id: str,
        config: ControlConfig,
        choice: TopologyChoice,
        bypass: Bypass | None = None,
        rollback: Rollback | None = None,
    ) -> None:
        least = config.views.min_samples
        self.bypass: Bypass = bypass or BypassGuard(config.bypass, least)
        self.rollback: Rollback = rollback or RollbackGuard(
            config.rollback, config.views.latency_window_s
        )
        self.denied = ""
        self.rolled_back_now = ""
        self._engine_id = engine_id
        self._choice = choice
        self._events: list[GuardEvent] = []

    @property
    def bypass_reason(self) -> str | None:
        """None while bypass is off."""
        return self.bypass.reason if self.bypass.active else None

    def run(self, view: VShort, *, restrained: bool, watching: bool) -> None:
        """Both guards, once per cycle; ``watching`` false suspends the rollback guard."""
        self.rolled_back_now = ""
        failed = self._guarded(view, "bypass", lambda: self._run_bypass(view, restrained))
        if not watching:
            self.rollback.cancel()
        elif self.bypass.active:
            self._fail_open_switch(view)
        else:
            failed += self._guarded(view, "rollback", lambda: self._run_rollback(view))
        self.denied = failed

    def note(self, at_s: float, kind: GuardKind, topology: str, reason: str) -> None:
        """Something outside the guards that belongs into the same record."""
        self._events.append(
            GuardEvent(
                at_s=at_s, engine_id=self._engine_id, kind=kind, topology=topology, reason=reason
            )
        )

    def take_events(self) -> list[GuardEvent]:
        """Events since the last call."""
        events, self._events = self._events, []
        return events

    def _guarded(self, view: VShort, name: str, guard: Callable[[], None]) -> str:
        try:
            guard()
        except Exception as error:  # a guard that raises means deny
            reason = f"{name} guard failed: {type(error).__name__}: {error}"[:200]
            if reason not in self.denied:
                logger.exception("%s guard of %s failed", name, self._engine_id)
                self.note(view.at_s, GuardKind.GUARD_ERROR, self._choice.current.topology, reason)
            return reason
        return ""

    def _run_bypass(self, view: VShort, restrained: bool) -> None:
        if self.bypass.update(view, restrained=restrained):
            kind = GuardKind.BYPASS_ON if self.bypass.active else GuardKind.BYPASS_OFF
            self.note(view.at_s, kind, self._choice.current.topology, self.bypass.reason)

    def _fail_open_switch(self, view: VShort) -> None:
        """A switch that ends in bypass within its guard window failed."""
        if self.rollback.open:
            self.rollback.cancel()
            self.note(
                view.at_s,
                GuardKind.ROLLBACK_FAIL,
                self._choice.current.topology,
                self.bypass.reason,
            )
            self._choice.failed(view.at_s)

    def _run_rollback(self, view: VShort) -> None:
        judgement = self.rollback.check(view)
        if judgement is None:
            return
        self._events.append(
            GuardEvent(
                at_s=view.at_s,
                engine_id=self._engine_id,
                kind=_KINDS[judgement.verdict],
                topology=judgement.topology,
                reason=judgement.reason,
                evidence=judgement.evidence,
            )
        )
        if judgement.verdict is Verdict.PASS:
            self._choice.passed()
        elif judgement.verdict is Verdict.FAIL:
            failed = self._choice.failed(view.at_s)
            now = self._choice.current.topology
            self.rolled_back_now = f"{failed.topology} -> {now}: {judgement.reason}"
