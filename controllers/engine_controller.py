"""One engine's closed loop: events in, directives and decisions out. Pure; no clock, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from hmas.controllers.config import ControlConfig
from hmas.controllers.conformal import ConformalBound
from hmas.controllers.decisions import (
    CycleResult,
    Decision,
    GuardKind,
    Owner,
    ResumeState,
)
from hmas.controllers.guards.choice import Chosen
from hmas.controllers.guards.precedence import Holding, resolve
from hmas.controllers.guards.watch import GuardWatch
from hmas.controllers.issuer import Content, Issuer
from hmas.controllers.meta.base import MetaContext, Outcome
from hmas.controllers.overrides import NO_OVERRIDES, Overrides
from hmas.controllers.qos import Learning, QosAgent
from hmas.controllers.sentences import change_words, holding_words, state_words
from hmas.controllers.slow_loop import SlowLoop
from hmas.controllers.statera import Statera
from hmas.controllers.step_fit import StepFit
from hmas.controllers.tpot_guard import TpotGuard
from hmas.controllers.views import VLong, VShort
from hmas.engine.directive import (
    UNBOUNDED,
    Controls,
    Directive,
    DirectiveReply,
    EngineDescription,
    StepModel,
)
from hmas.engine.events import Event
from hmas.engine.topologies import BASELINE, topology_names


class EngineController:
    """Drives one engine; the daemon calls it in real time, the bench in virtual time.

    Call order: ``observe`` for every event; every ``config.cycle_s`` a ``cycle``, send what it
    returns (``result.directive or result.renew``) and hand the answer to ``acknowledge``,
    then ``close_window``; when ``meta_due``, ``meta_context`` and ``decide``.

    Args:
        description: the engine's answer to ``Describe``.
        resume: what a predecessor stored; without it the engine's own active topology goes on.
        prior: step-time model of the engine's profile, where one is known.
    """

    def __init__(
        self,
        description: EngineDescription,
        config: ControlConfig | None = None,
        resume: ResumeState | None = None,
        prior: StepModel | None = None,
    ) -> None:
        self.config = config = config or ControlConfig()
        self.engine_id = description.engine_id
        self._description = description
        self._boot_id = description.boot_id
        stored = resume.calibration if resume else None
        self._calibration = ConformalBound(config.calibration, stored)
        fitted = resume.step_model if resume else None
        self._step_fit = StepFit(config.step_fit, fitted or prior, proven=fitted is not None)
        epsilon = config.calibration.epsilon
        self._guard = TpotGuard(config.statera)
        learning = Learning(self._calibration, self._step_fit, self._guard)
        self._qos = QosAgent(self.engine_id, config.views, learning, epsilon)
        self._statera = Statera(config.statera, description.limits, epsilon, self._guard)
        self._slow = SlowLoop(
            self.engine_id, config, self._available(), _start(description, config)
        )
        self._watch = GuardWatch(self.engine_id, config, self._slow.choice)
        version = description.active.version if description.active else 0
        version = max(version, resume.version if resume else 0)
        self._issuer = Issuer(self.engine_id, config.ttl_s, config.refused_retry_s, version)
        if resume is not None:
            self._slow.restore(resume)
        self._owner = Owner.META

    @property
    def active_directive(self) -> Directive | None:
        """Newest directive that was not refused; sending it again renews the lease."""
        return self._issuer.active

    @property
    def step_model(self) -> StepModel | None:
        """The step-time model fitted to this engine; None until it can be trusted."""
        return self._step_fit.published

    def observe(self, event: Event) -> None:
        """One event of this engine, or of a gateway about it; repeats are harmless."""
        self._qos.observe(event)

    def note_gap(self, batches: int = 1) -> None:
        """``batches`` event batches of this engine were lost on the way."""
        self._qos.note_gap(batches)

    def describe(self, description: EngineDescription, now_s: float) -> None:
        """The engine (re)appeared: adopt its limits; the next cycle issues a new directive."""
        self._description = description
        self._slow.available = self._available()
        epsilon = self.config.calibration.epsilon
        self._statera = Statera(self.config.statera, description.limits, epsilon, self._guard)
        version = description.active.version if description.active else 0
        self._issuer.restart(version)
        self._notice_boot(description.boot_id, now_s)

    def cycle(self, now_s: float, overrides: Overrides = NO_OVERRIDES) -> CycleResult:
        """The fast loop (paper Algorithm 1, steps 2, 3, 5): well under a millisecond."""
        overrides = overrides.active(now_s)
        view = self._qos.short_view(now_s)
        step_model = self._step_fit.model(now_s)
        self._watch.run(view, restrained=self._restrained(), watching=self._watching(overrides))
        choice = self._slow.choice
        rolled_back = choice.rolled_back and choice.cooling_down(now_s)
        holding = resolve(
            overrides, self._watch.bypass_reason, choice.current, rolled_back=rolled_back
        )
        controls = self._controls(view, step_model, holding, overrides)
        before, self._owner = self._issuer.active, holding.owner
        content = Content(holding.topology, holding.hints, holding.bypass, controls)
        directive = self._issuer.issue(content, self._cause(holding), now_s)
        return CycleResult(
            v_short=view,
            directive=directive,
            renew=self._issuer.active,
            owner=holding.owner,
            topology=holding.topology,
            sentence=self._sentence(view, holding, before, directive),
            guard_events=self._watch.take_events(),
        )

    def close_window(self, now_s: float) -> VLong | None:
        """The window that ended by ``now_s``, None while it is open. Store it either way;
        only ``completed`` ones reach the slow loop."""
        window = self._qos.close_window(now_s)
        if window is not None and window.completed:
            self._slow.add(window)
        return window

    def meta_due(self, now_s: float) -> bool:
        """Whether the slow loop's next turn has come (daemons may use their own timer)."""
        return self._slow.due(now_s)

    def meta_context(self, now_s: float) -> MetaContext | None:
        """What the slow loop decides on; None without a window of the active topology."""
        return self._slow.context(now_s, self._qos.latest, self._watch)

    def decide(self, now_s: float, outcomes: Sequence[Outcome] = ()) -> Decision:
        """The slow loop's turn: the first valid proposal, else the rules, else hold.

        ``outcomes``: answers of other controllers (the LLM's), best first. The next
        ``cycle`` puts the decision into a directive.
        """
        return self._slow.decide(now_s, outcomes, self._qos.latest, self._watch, self._owner)

    def acknowledge(self, directive: Directive, reply: DirectiveReply, now_s: float) -> None:
        """The engine's answer to a directive or to a renewal."""
        self._notice_boot(reply.boot_id, now_s)
        problem = self._issuer.acknowledge(directive, reply, now_s)
        if not problem:
            return
        kind = GuardKind.REISSUE if reply.accepted else GuardKind.NACK
        self._watch.note(now_s, kind, directive.topology, problem)
        unproven = self._watch.rollback.open and directive.topology != reply.topology
        if not reply.accepted and unproven:
            self._watch.rollback.cancel()
            self._slow.choice.revert()

    def resume_state(self) -> ResumeState:
        """What to store so that a restarted daemon goes on from here."""
        choice = self._slow.choice
        return ResumeState(
            engine_id=self.engine_id,
            version=self._issuer.version,
            topology=choice.current.topology,
            hints=choice.current.hints,
            stable_topology=choice.stable.topology,
            stable_hints=choice.stable.hints,
            chosen_at_s=choice.chosen_at_s,
            cool_down_until_s=choice.cool_down_until_s,
            quarantine=choice.quarantine,
            failures=choice.failures,
            calibration=self._calibration.errors(),
            step_model=self._step_fit.published,
            decisions=self._slow.decisions,
        )

    # Parts of a cycle ---------------------------------------------------------------------

    def _available(self) -> list[str]:
        """Topologies that both ends know."""
        ours = topology_names()
        return [name for name in self._description.topologies if name in ours] or [BASELINE]

    def _notice_boot(self, boot_id: str, now_s: float) -> None:
        if boot_id == self._boot_id:
            return
        self._boot_id = boot_id
        self._qos.engine_restarted()
        self._issuer.restart(0)
        self._watch.rollback.cancel()
        self._watch.note(now_s, GuardKind.REISSUE, "", "the engine restarted")

    def _restrained(self) -> bool:
        """Whether bypass would change anything."""
        active = self._issuer.active
        if active is None:
            return False
        plain = active.topology == BASELINE and active.controls.fence is None
        return not (plain and self._statera.wide_open and active.controls.step_model is None)

    def _watching(self, overrides: Overrides) -> bool:
        """Rollback judges the slow loop's choice, not an operator's or the bypass."""
        return overrides.pin is None and overrides.kill_switch is None

    def _controls(
        self,
        view: VShort,
        step_model: StepModel | None,
        holding: Holding,
        overrides: Overrides,
    ) -> Controls:
        if holding.bypass:
            self._statera.open_wide()
            return UNBOUNDED
        controls = self._statera.update(view, self._calibration, step_model)
        override = overrides.controls
        return controls if override is None else override.apply(controls)

    def _cause(self, holding: Holding) -> str:
        if holding.owner in {Owner.META, Owner.ROLLBACK} and self._slow.last_decision_id:
            return self._slow.last_decision_id
        return holding.owner.value

    def _sentence(
        self, view: VShort, holding: Holding, before: Directive | None, issued: Directive | None
    ) -> str:
        refused = self._issuer.refused
        if refused is not None and refused.content.topology == holding.topology:
            active = before.topology if before else view.topology or "nothing"
            return f"hold {active}: engine refused {holding.topology}: {refused.reason}"
        if holding.owner in {Owner.KILL_SWITCH, Owner.BYPASS, Owner.PIN}:
            return holding_words(holding)
        if issued is None:
            return f"hold {holding.topology}: {self._hold_reason(view)}"
        if self._watch.rolled_back_now:
            return f"rollback {self._watch.rolled_back_now}"
        reason = self._slow.reason or self._hold_reason(view)
        return change_words(before, issued, reason)

    def _hold_reason(self, view: VShort) -> str:
        views = self.config.views
        band = self.config.rules.violation_band
        return state_words(view, band=band, least=views.min_samples, stale_s=views.stale_after_s)


def _start(description: EngineDescription, config: ControlConfig) -> Chosen:
    """The topology that the engine runs under our last directive, else the configured one."""
    active, known = description.active, topology_names()
    if active is not None and not active.bypass and active.topology in known:
        return Chosen(active.topology, active.hints)
    return Chosen(config.initial_topology, config.first_hints())
