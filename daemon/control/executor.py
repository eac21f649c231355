"""The only place that acts: sends directives, keeps records, writes the audit and the log."""

from __future__ import annotations

import logging
import uuid
from typing import Any, Protocol

import msgspec

from hmas.controllers.decisions import CycleResult, Decision, GuardEvent, Owner
from hmas.controllers.views import VLong
from hmas.daemon.control.engines import Delivery, ManagedEngine, Switch
from hmas.daemon.control.overrides import OverrideBook
from hmas.daemon.control.records import (
    decision_record,
    directive_record,
    guard_record,
    long_view_record,
    refusals_of,
    resume_records,
    short_view_record,
)
from hmas.daemon.control.sender import DirectiveSender
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import Clock
from hmas.engine.directive import Directive
from hmas.storage.records import (
    ALL_ENGINES,
    AckState,
    AuditRecord,
    DecisionRole,
    OverrideRecord,
    Record,
)

log = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 5
BYPASSING = (Owner.KILL_SWITCH, Owner.BYPASS)


class Recorder(Protocol):
    """Where records go; never waits, never fails (:class:`hmas.storage.writer.RecordWriter`)."""

    def submit(self, record: Record) -> None: ...


class Executor:
    """Applies what loops and operators decided."""

    def __init__(
        self,
        recorder: Recorder,
        clock: Clock,
        tasks: Tasks,
        *,
        log_every_s: float = 30.0,
        view_every_s: float = 1.0,
    ) -> None:
        self._recorder = recorder
        self._clock = clock
        self._sender = DirectiveSender(clock, tasks, self._answered)
        self._log_every_s = log_every_s
        self._view_every_s = view_every_s
        self._logged_at_s: dict[str, float] = {}
        self._viewed_at_s: dict[str, float] = {}
        self.refusals: dict[str, int] = {}

    def configure(self, log_every_s: float, view_every_s: float) -> None:
        """New intervals, from the next cycle on."""
        self._log_every_s = log_every_s
        self._view_every_s = view_every_s

    # One turn of the fast loop --------------------------------------------------------------

    def carry_out(self, engine: ManagedEngine, result: CycleResult, now_s: float) -> None:
        """Send the directive, or renew the lease when that is due; keep what was seen."""
        before, engine.last_cycle = engine.last_cycle, result
        changed = self._note_switch(engine, before, result, now_s)
        if result.directive is not None:
            self._issue(engine, Delivery(result.directive, result))
        elif result.renew is not None and self._is_renewal_due(engine, result.renew, now_s):
            self._sender.send(engine, Delivery(result.renew, result, renewal=True))
        for event in result.guard_events:
            self._guard(engine, event)
        self._keep_view(engine, result, now_s)
        self._say(engine, result, now_s, changed=changed)

    def _note_switch(
        self, engine: ManagedEngine, before: CycleResult | None, result: CycleResult, now_s: float
    ) -> bool:
        """Whether the topology, the bypass or their owner changed with this cycle."""
        if before is not None and (before.topology, before.owner) == (
            result.topology,
            result.owner,
        ):
            return False
        engine.changed_at_s = now_s
        if before is not None:
            engine.history.switches.append(
                Switch(
                    at_s=now_s,
                    before=before.topology,
                    after=result.topology,
                    bypass=result.owner in BYPASSING,
                    owner=result.owner,
                    sentence=result.sentence,
                )
            )
        return True

    def _issue(self, engine: ManagedEngine, delivery: Delivery) -> None:
        engine.delivery = delivery
        self._recorder.submit(directive_record(delivery))
        self._sender.send(engine, delivery)

    def _is_renewal_due(self, engine: ManagedEngine, active: Directive, now_s: float) -> bool:
        if self._sender.is_busy(engine.engine_id):
            return False
        if engine.confirmed_at_s is None or not engine.reachable:
            return True
        return now_s - engine.confirmed_at_s >= active.ttl_s / RENEWALS_PER_LEASE

    def _answered(self, engine: ManagedEngine, delivery: Delivery) -> None:
        """The directive's record again, now with its answer, and its one audit row."""
        record = directive_record(delivery)
        result = f"{delivery.ack.value}: {delivery.reason}".removesuffix(": ")
        if delivery.ack is AckState.NACKED:
            log.warning("%s directive %d: %s", engine.engine_id, record.version, result)
        self._recorder.submit(record)
        self.audit(
            actor=delivery.result.owner.value,
            action="directive",
            engine_id=engine.engine_id,
            inputs={
                "sentence": record.sentence,
                "directive": record.payload,
                "v_short": msgspec.to_builtins(delivery.result.v_short),
            },
            result=result,
        )

    def _guard(self, engine: ManagedEngine, event: GuardEvent) -> None:
        log.warning("%s guard %s: %s", engine.engine_id, event.kind.value, event.reason)
        self._recorder.submit(guard_record(event))

    def _keep_view(self, engine: ManagedEngine, result: CycleResult, now_s: float) -> None:
        if now_s - self._viewed_at_s.get(engine.engine_id, 0.0) >= self._view_every_s:
            self._viewed_at_s[engine.engine_id] = now_s
            engine.history.short.append(result.v_short)
            self._recorder.submit(short_view_record(result.v_short))

    def _say(
        self, engine: ManagedEngine, result: CycleResult, now_s: float, *, changed: bool
    ) -> None:
        last_s = self._logged_at_s.get(engine.engine_id, 0.0)
        loud = changed or now_s - last_s >= self._log_every_s
        if loud:
            self._logged_at_s[engine.engine_id] = now_s
        log.log(logging.INFO if loud else logging.DEBUG, "%s %s", engine.engine_id, result.sentence)

    # The slower loops -----------------------------------------------------------------------

    def keep_window(self, engine: ManagedEngine, window: VLong) -> None:
        """A completed V_long."""
        engine.history.long.append(window)
        self._recorder.submit(long_view_record(window))

    def decided(
        self,
        engine: ManagedEngine,
        decision: Decision,
        *,
        role: DecisionRole = DecisionRole.PRIMARY,
    ) -> None:
        """A turn of the slow loop: the next cycle issues what it changes."""
        engine.last_decision = decision
        for refusal in refusals_of(decision):
            self.refusals[refusal.kind.value] = self.refusals.get(refusal.kind.value, 0) + 1
            log.warning(
                "%s refused the answer of %s (%s): %s",
                engine.engine_id,
                refusal.controller,
                refusal.kind.value,
                refusal.detail,
            )
        log.info("%s %s", engine.engine_id, decision.sentence)
        self._recorder.submit(decision_record(decision, role))
        self.audit(
            actor=decision.controller,
            action="decision",
            engine_id=engine.engine_id,
            inputs={"decision_id": decision.decision_id, "sentence": decision.sentence},
            result="applied" if decision.applied else f"not applied: {decision.reason}",
        )

    def keep_resume_state(self, engine: ManagedEngine, now_s: float) -> None:
        """What a restart needs: D_b, topology, versions."""
        if engine.controller is not None:
            for record in resume_records(engine.controller.resume_state(), now_s):
                self._recorder.submit(record)

    def record(self, record: Record) -> None:
        """Keep a fact that has no action of its own."""
        self._recorder.submit(record)

    # Operators ------------------------------------------------------------------------------

    def expire(self, book: OverrideBook, now_s: float) -> None:
        """End what has come to its end."""
        for record in book.expire(now_s):
            self.override_changed(record, actor="clock", action="expire")

    def override_changed(self, record: OverrideRecord, *, actor: str, action: str) -> None:
        """An override began or ended."""
        what = f"{action} {record.kind.value}"
        log.info("%s on %s by %s: %s", what, record.engine_id, actor, record.reason)
        self._recorder.submit(record)
        self.audit(
            actor=actor,
            action=what,
            engine_id=record.engine_id,
            inputs={"override_id": record.id, "reason": record.reason, **record.payload},
            result="done",
        )

    def audit(
        self,
        *,
        actor: str,
        action: str,
        engine_id: str = ALL_ENGINES,
        inputs: dict[str, Any] | None = None,
        result: str = "done",
    ) -> None:
        self._recorder.submit(
            AuditRecord(
                engine_id=engine_id,
                id=uuid.uuid4().hex,
                at_s=self._clock.now_s(),
                actor=actor,
                action=action,
                target=engine_id,
                inputs=inputs or {},
                result=result,
            )
        )
