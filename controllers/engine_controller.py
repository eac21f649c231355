"""One engine's closed loop: events in, directives and decisions out. Pure; no clock, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from hmas.controllers.config import ControlConfig
from hmas.controllers.decisions import Action, CycleResult, Decision, Owner, ResumeState
from hmas.controllers.meta.base import MetaContext, Outcome
from hmas.controllers.overrides import NO_OVERRIDES, Overrides
from hmas.controllers.views import VLong, VShort
from hmas.engine.directive import Directive, DirectiveReply, EngineDescription
from hmas.engine.events import Event


class EngineController:
    """Drives one engine; the daemon calls it in real time, the bench in virtual time.

    Call order: ``observe`` for every event; ``cycle`` every ``config.cycle_s``, send what it
    returns (or ``result.renew``) and hand the answer to ``acknowledge``; ``close_window``
    after each cycle; ``meta_context`` + ``decide`` every ``config.meta_s``.
    """

    def __init__(
        self,
        description: EngineDescription,
        config: ControlConfig | None = None,
        resume: ResumeState | None = None,
    ) -> None:
        self.config = config or ControlConfig()
        self.engine_id = description.engine_id
        known = description.active.version if description.active else 0
        self._version = max(known, resume.version if resume else 0)
        self._topology = resume.topology if resume else self.config.initial_topology
        self._active: Directive | None = None
        self._decisions = resume.decisions if resume else 0

    @property
    def active_directive(self) -> Directive | None:
        """The newest directive issued; send it again to renew the lease."""
        return self._active

    def describe(self, description: EngineDescription, now_s: float) -> None:
        """The engine (re)appeared: adopt its limits; the next cycle issues a new directive."""
        self._version = max(self._version, description.active.version if description.active else 0)
        self._active = None

    def observe(self, event: Event) -> None:
        """One event of this engine (or of a gateway about it); repeats are harmless."""

    def note_gap(self, batches: int = 1) -> None:
        """``batches`` event batches of this engine were lost on the way."""

    def cycle(self, now_s: float, overrides: Overrides = NO_OVERRIDES) -> CycleResult:
        """The fast loop (paper Algorithm 1, steps 2, 3, 5)."""
        directive = None
        if self._active is None:
            self._version += 1
            directive = self._active = Directive(
                engine_id=self.engine_id,
                version=self._version,
                issued_at_s=now_s,
                ttl_s=self.config.ttl_s,
                topology=self._topology,
            )
        return CycleResult(
            v_short=VShort(at_s=now_s, engine_id=self.engine_id),
            directive=directive,
            renew=self._active,
            owner=Owner.META,
            topology=self._topology,
            sentence=f"hold {self._topology}: no traffic",
        )

    def close_window(self, now_s: float) -> VLong | None:
        """The window that ended by ``now_s``, None while it is still open."""
        return None

    def meta_context(self, now_s: float) -> MetaContext | None:
        """What the slow loop decides on; None without a single completed window."""
        return None

    def decide(self, now_s: float, outcomes: Sequence[Outcome] = ()) -> Decision:
        """The slow loop's turn: the first usable proposal, else the rules, else hold."""
        self._decisions += 1
        return Decision(
            decision_id=f"{self.engine_id}-{self._decisions}",
            at_s=now_s,
            engine_id=self.engine_id,
            action=Action.HOLD,
            previous=self._topology,
            topology=self._topology,
            controller="hold",
            reason="no completed window yet",
            applied=True,
            sentence=f"hold {self._topology}: no completed window yet",
        )

    def acknowledge(self, directive: Directive, reply: DirectiveReply, now_s: float) -> None:
        """The engine's answer to a directive or to a renewal."""

    def resume_state(self) -> ResumeState:
        """What to store so that a restarted daemon goes on from here."""
        return ResumeState(
            engine_id=self.engine_id,
            version=self._version,
            topology=self._topology,
            stable_topology=self._topology,
            decisions=self._decisions,
        )
