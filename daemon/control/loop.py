"""The control loop: read the state, ask the controllers, hand their actions to the executor."""

from __future__ import annotations

import asyncio
import logging

from hmas.controllers.decisions import Action, Decision
from hmas.controllers.engine_controller import EngineController
from hmas.controllers.meta.base import MetaContext, Outcome, Proposal, Refusal
from hmas.daemon.control.advisers import Advisers
from hmas.daemon.control.engines import Fleet, ManagedEngine
from hmas.daemon.control.executor import Executor
from hmas.daemon.control.overrides import OverrideBook
from hmas.engine.clock import Clock
from hmas.storage.records import DecisionRole

log = logging.getLogger(__name__)


class ControlLoop:
    """Every method is one body of a loop: it re-reads the state, so a repeat is harmless."""

    def __init__(
        self,
        fleet: Fleet,
        executor: Executor,
        book: OverrideBook,
        clock: Clock,
        advisers: Advisers,
    ) -> None:
        self._fleet = fleet
        self._executor = executor
        self._book = book
        self._clock = clock
        self.advisers = advisers
        self.faults: dict[str, int] = {}

    async def cycle(self, now_s: float) -> None:
        """The fast loop: one directive or renewal per engine."""
        for record in self._book.expire(now_s):
            self._executor.override_changed(record, actor="clock", action="expire")
        for engine, controller in self._fleet.controlled():
            try:
                result = controller.cycle(now_s, self._book.of_engine(engine.engine_id))
                self._executor.carry_out(engine, result, now_s)
                if (window := controller.close_window(now_s)) is not None:
                    self._executor.keep_window(engine, window)
            except Exception:  # noqa: BLE001 - one engine's fault must not stop the others
                self._fault(engine, "cycle")

    async def meta(self, _: float) -> None:
        """The slow loop: all engines at once, so that one slow answer delays nobody else."""
        await asyncio.gather(
            *(self._meta(engine, controller) for engine, controller in self._fleet.controlled())
        )

    async def _meta(self, engine: ManagedEngine, controller: EngineController) -> None:
        try:
            context = controller.meta_context(self._clock.now_s())
            if context is None:
                return
            outcomes, shadows = await self._ask(context)
            now_s = self._clock.now_s()
            decision = controller.decide(now_s, outcomes)
            self._executor.decided(engine, decision)
            for shadow in shadows:
                self._executor.decided(engine, compared(decision, shadow), role=DecisionRole.SHADOW)
            self._executor.keep_resume_state(engine, now_s)
        except Exception:  # noqa: BLE001 - one engine's fault must not stop the others
            self._fault(engine, "meta")

    async def _ask(self, context: MetaContext) -> tuple[list[Outcome], list[Outcome]]:
        primary = self.advisers.primary
        asked = ([primary] if primary else []) + list(self.advisers.shadows.values())
        answers = await asyncio.gather(*(adviser.propose(context) for adviser in asked))
        return answers[: 1 if primary else 0], answers[1 if primary else 0 :]

    async def keep_resume_state(self, now_s: float) -> None:
        """What a restart needs, of every engine."""
        for engine, _ in self._fleet.controlled():
            self._executor.keep_resume_state(engine, now_s)

    def _fault(self, engine: ManagedEngine, loop: str) -> None:
        self.faults[engine.engine_id] = self.faults.get(engine.engine_id, 0) + 1
        log.exception("%s: %s failed; its engine keeps its last directive", engine.engine_id, loop)


def compared(decision: Decision, outcome: Proposal | Refusal) -> Decision:
    """What a shadow would have decided, as a record beside the real decision."""
    if isinstance(outcome, Refusal):
        topology, hints = decision.previous, {}
        reason = f"{outcome.kind.value}: {outcome.detail}"
    else:
        topology, hints, reason = outcome.topology, outcome.hints, outcome.reason
    return Decision(
        decision_id=f"{decision.decision_id}-{outcome.controller}",
        at_s=decision.at_s,
        engine_id=decision.engine_id,
        action=Action.HOLD if topology == decision.previous else Action.SWITCH,
        previous=decision.previous,
        topology=topology,
        hints=hints,
        controller=outcome.controller,
        reason=reason,
        applied=False,
        sentence=f"shadow {outcome.controller}: {topology}, {reason}",
        outcomes=[outcome],
        inputs=decision.inputs,
    )
