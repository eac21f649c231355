"""The slow loop's bookkeeping: windows, context, and what becomes of a proposal."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from hmas.controllers.config import ControlConfig
from hmas.controllers.decisions import Action, Decision, Owner, ResumeState
from hmas.controllers.guards.choice import Chosen, TopologyChoice
from hmas.controllers.guards.watch import GuardWatch
from hmas.controllers.meta.base import MetaContext, Outcome, Proposal
from hmas.controllers.meta.chain import choose
from hmas.controllers.meta.rules import Rules
from hmas.controllers.meta.summary import summarize
from hmas.controllers.views import Drift, VLong, VShort
from hmas.engine.topologies import BASELINE, hint_bounds

BYPASS_LEAST_VIOLATIONS: Final = 0.5
"""A meta-controller may ask for bypass only where at least this share of requests fails."""


class Turn(NamedTuple):
    """What one turn came to; ``stopped`` says what stands in the way of it."""

    action: Action
    proposal: Proposal
    stopped: str
    outcomes: list[Outcome]
    inputs: dict[str, Any]


class SlowLoop:
    """Pi_meta with its memory (paper 3.4.1)."""

    def __init__(
        self, engine_id: str, config: ControlConfig, available: list[str], start: Chosen
    ) -> None:
        self.available = available
        self.choice = TopologyChoice(config.rollback, self._offered(start))
        self.decisions = 0
        self.last_decision_id = ""
        self.reason = ""
        self._engine_id = engine_id
        self._config = config
        self._rules = Rules(config.rules, config.views.min_samples)
        kept = max(1, math.ceil(config.meta_s / config.views.long_window_s))
        self._windows: deque[VLong] = deque(maxlen=kept)
        self._next_s: float | None = None
        self._last_s = float("-inf")

    def restore(self, state: ResumeState) -> None:
        """Go on where a predecessor stopped."""
        self.choice.restore(state)
        self.choice.current = self.choice.previous = self._offered(self.choice.current)
        self.choice.stable = self._offered(self.choice.stable)
        self.decisions = state.decisions

    def add(self, window: VLong) -> None:
        """A completed window."""
        if self._next_s is None:
            self._next_s = window.start_s + self._config.first_meta_s
        before = self._windows[-1] if self._windows else None
        self._windows.append(window)
        if Drift.VIOLATION_RATE in window.drift or self._overload_began(before, window):
            early_s = max(window.end_s, self._last_s + self._config.early_meta_s)
            self._next_s = min(self._next_s, early_s)

    def _overload_began(self, before: VLong | None, window: VLong) -> bool:
        limit, rate = self._config.rules.overload_rate, window.violation_rate or 0.0
        measured = window.samples >= self._config.views.min_samples
        calm_before = before is None or (before.violation_rate or 0.0) <= limit
        return measured and rate > limit and calm_before

    def due(self, now_s: float) -> bool:
        return self._next_s is not None and now_s >= self._next_s

    def context(self, now_s: float, view: VShort | None, watch: GuardWatch) -> MetaContext | None:
        """None without a window that began under the present choice."""
        choice = self.choice
        windows = [window for window in self._windows if window.start_s >= choice.chosen_at_s]
        if not windows:
            return None
        blocked_by = self._blocked_by(now_s, watch)
        return MetaContext(
            at_s=now_s,
            engine_id=self._engine_id,
            windows=windows,
            v_short=view,
            active=choice.current.topology,
            active_hints=choice.current.hints,
            stable=choice.stable.topology,
            topology_age_s=now_s - max(choice.chosen_at_s, windows[0].start_s),
            available=self.available,
            quarantined=choice.quarantined(now_s),
            hint_bounds={name: hint_bounds(name) for name in self.available},
            bypass=watch.bypass.active,
            switching_allowed=not blocked_by,
            blocked_by=blocked_by,
            bypass_allowed=_is_emergency(view),
        )

    def decide(
        self,
        now_s: float,
        outcomes: Sequence[Outcome],
        view: VShort | None,
        watch: GuardWatch,
        owner: Owner,
    ) -> Decision:
        """One turn; the decision is in force from the next cycle on, unless it says not."""
        self._last_s, self._next_s = now_s, now_s + self._config.meta_s
        self.decisions += 1
        context = self.context(now_s, view, watch)
        if context is None:
            proposal = Proposal(
                controller="hold",
                topology=self.choice.current.topology,
                reason="no completed window yet",
            )
            return self._record(now_s, Turn(Action.HOLD, proposal, "", list(outcomes), {}))
        proposal, checked = choose(outcomes, self._rules, context)
        action = self._action(proposal)
        stopped = self._stopped(action, context, owner)
        summary = summarize(context.windows, self._config.rules.fairness)
        inputs: dict[str, Any] = msgspec.to_builtins(summary)
        decision = self._record(now_s, Turn(action, proposal, stopped, checked, inputs))
        if decision.applied:
            self._apply(action, proposal, view, watch, now_s)
            if action is not Action.HOLD:
                self.last_decision_id = decision.decision_id
            self.reason = proposal.reason
        return decision

    def _blocked_by(self, now_s: float, watch: GuardWatch) -> str:
        if watch.denied:
            return watch.denied
        if watch.rollback.open:
            return f"guard window of {self.choice.current.topology} open"
        if self.choice.cooling_down(now_s):
            left_s = self.choice.cool_down_until_s - now_s
            return f"cool-down for another {left_s:.0f} s"
        return ""

    def _action(self, proposal: Proposal) -> Action:
        current = self.choice.current
        if proposal.bypass:
            return Action.BYPASS
        if proposal.topology != current.topology:
            return Action.SWITCH
        return Action.HINTS if proposal.hints != current.hints else Action.HOLD

    def _stopped(self, action: Action, context: MetaContext, owner: Owner) -> str:
        """What stands in the way of an action, or an empty string."""
        if action is Action.HOLD:
            return ""
        if owner in {Owner.KILL_SWITCH, Owner.BYPASS, Owner.PIN}:
            return f"{owner.value.replace('_', ' ')} holds"
        if action is Action.BYPASS:
            return "" if context.bypass_allowed else "bypass is for emergencies"
        return context.blocked_by

    def _apply(
        self,
        action: Action,
        proposal: Proposal,
        view: VShort | None,
        watch: GuardWatch,
        now_s: float,
    ) -> None:
        chosen = Chosen(proposal.topology, proposal.hints)
        if action is Action.SWITCH:
            self.choice.switch(chosen, now_s)
            watch.rollback.watch(chosen.topology, view, now_s)
        elif action is Action.HINTS:
            self.choice.tune(chosen)
        elif action is Action.BYPASS:
            watch.bypass.request(f"{proposal.controller}: {proposal.reason}", now_s)

    def _record(self, now_s: float, turn: Turn) -> Decision:
        before, proposal = self.choice.current, turn.proposal
        applied = not turn.stopped
        after = proposal if applied and turn.action is not Action.BYPASS else before
        return Decision(
            decision_id=f"{self._engine_id}-{self.decisions}",
            at_s=now_s,
            engine_id=self._engine_id,
            action=turn.action,
            previous=before.topology,
            topology=after.topology,
            hints=after.hints,
            controller=proposal.controller,
            reason=proposal.reason,
            applied=applied,
            sentence=_sentence(turn, before.topology),
            outcomes=turn.outcomes,
            inputs=turn.inputs,
        )

    def _offered(self, chosen: Chosen) -> Chosen:
        """The baseline where the engine does not offer the topology."""
        return chosen if chosen.topology in self.available else Chosen(BASELINE, {})


def _is_emergency(view: VShort | None) -> bool:
    rate = view.violation_rate if view is not None else None
    return rate is not None and rate >= BYPASS_LEAST_VIOLATIONS


def _sentence(turn: Turn, active: str) -> str:
    proposal = turn.proposal
    if turn.stopped:
        wanted = "bypass" if turn.action is Action.BYPASS else proposal.topology
        wish = f"{proposal.controller} wants {wanted}: {proposal.reason}"
        return f"hold {active}: {turn.stopped} ({wish})"
    match turn.action:
        case Action.SWITCH:
            return f"switch {active} -> {proposal.topology}: {proposal.reason}"
        case Action.HINTS:
            return f"tune {active}: {proposal.reason}"
        case Action.BYPASS:
            return f"bypass: {proposal.reason}"
        case Action.HOLD:
            return f"hold {active}: {proposal.reason}"
