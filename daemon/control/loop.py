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
from hmas.daemon.tasks import Tasks
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
        *,
        clock: Clock,
        tasks: Tasks,
        advisers: Advisers,
    ) -> None:
        self._fleet = fleet
        self._executor = executor
        self._book = book
        self._clock = clock
        self._tasks = tasks
        self._deciding: set[str] = set()
        self.advisers = advisers
        self.faults: dict[str, int] = {}

    async def cycle(self, now_s: float) -> None:
        """The fast loop: one directive or renewal per engine."""
        self._executor.expire(self._book, now_s)
        for engine, controller in self._fleet.controlled():
            try:
                result = controller.cycle(now_s, self._book.of_engine(engine.engine_id))
                self._executor.carry_out(engine, result, now_s)
                if (window := controller.close_window(now_s)) is not None:
                    self._executor.keep_window(engine, window)
            except Exception:  # noqa: BLE001 - one engine's fault must not stop the others
                self._fault(engine, "cycle")

    async def meta(self, now_s: float) -> None:
        """The slow loop: starts a turn for every engine that is due and not in one already.

        A turn may wait for an LLM, so it runs beside the loops.
        """
        for engine, controller in self._fleet.controlled():
            if engine.engine_id not in self._deciding and controller.meta_due(now_s):
                self._deciding.add(engine.engine_id)
                self._tasks.start(self._turn(engine, controller), name=f"meta {engine.engine_id}")

    async def _turn(self, engine: ManagedEngine, controller: EngineController) -> None:
        try:
            await self._decide(engine, controller)
        except Exception:  # noqa: BLE001 - one engine's fault must not stop the others
            self._fault(engine, "meta")
        finally:
            self._deciding.discard(engine.engine_id)

    async def _decide(self, engine: ManagedEngine, controller: EngineController) -> None:
        context = controller.meta_context(self._clock.now_s())
        answers, shadows = await self._ask(context) if context is not None else ([], [])
        if engine.controller is not controller:
            return
        now_s = self._clock.now_s()
        decision = controller.decide(now_s, answers)
        self._executor.decided(engine, decision)
        for shadow in shadows:
            self._executor.decided(engine, compared(decision, shadow), role=DecisionRole.SHADOW)
        self._executor.keep_resume_state(engine, now_s)

    async def _ask(self, context: MetaContext) -> tuple[list[Outcome], list[Outcome]]:
        """Answers that count, and those of shadows."""
        primary = self.advisers.primary
        asked = ([primary] if primary else []) + list(self.advisers.shadows.values())
        answers = await asyncio.gather(*(adviser.propose(context) for adviser in asked))
        counting = 1 if primary else 0
        return answers[:counting], answers[counting:]

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
