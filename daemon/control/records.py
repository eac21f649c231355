"""What the controllers said, as records for storage."""

from __future__ import annotations

import msgspec

from hmas.controllers.decisions import Decision, GuardEvent, GuardKind, ResumeState
from hmas.controllers.meta.base import Proposal, Refusal
from hmas.controllers.views import VLong, VShort
from hmas.daemon.control.engines import Delivery
from hmas.storage.records import (
    CalibrationRecord,
    DecisionRecord,
    DecisionRole,
    DirectiveRecord,
    GuardEventRecord,
    Horizon,
    Record,
    ResumeRecord,
    ViewRecord,
)


def short_view_record(view: VShort) -> ViewRecord:
    return ViewRecord(
        engine_id=view.engine_id,
        horizon=Horizon.SHORT,
        at_s=view.at_s,
        payload=msgspec.to_builtins(view),
    )


def long_view_record(view: VLong) -> ViewRecord:
    return ViewRecord(
        engine_id=view.engine_id,
        horizon=Horizon.LONG,
        at_s=view.end_s,
        payload=msgspec.to_builtins(view),
    )


def directive_record(delivery: Delivery) -> DirectiveRecord:
    """The directive with its answer so far."""
    directive = delivery.directive
    return DirectiveRecord(
        engine_id=directive.engine_id,
        version=directive.version,
        issued_at_s=directive.issued_at_s,
        payload=msgspec.to_builtins(directive),
        owner=delivery.result.owner.value,
        cause=directive.cause,
        sentence=delivery.result.sentence,
        ack=delivery.ack,
        ack_reason=delivery.reason,
        acked_at_s=delivery.answered_at_s,
        step=delivery.step,
    )


def guard_record(event: GuardEvent) -> GuardEventRecord:
    return GuardEventRecord(
        engine_id=event.engine_id,
        at_s=event.at_s,
        guard=event.kind.value.partition("_")[0],
        verdict=_VERDICTS.get(event.kind, event.kind.value),
        topology_to=event.topology,
        detail={"kind": event.kind.value, "reason": event.reason, "evidence": event.evidence},
    )


_VERDICTS = {
    GuardKind.ROLLBACK_PASS: "pass",
    GuardKind.ROLLBACK_FAIL: "fail",
    GuardKind.ROLLBACK_INCONCLUSIVE: "inconclusive",
    GuardKind.ROLLBACK_ERROR: "error",
    GuardKind.BYPASS_ON: "fail",
    GuardKind.BYPASS_OFF: "pass",
    GuardKind.GUARD_ERROR: "error",
    GuardKind.NACK: "fail",
    GuardKind.REISSUE: "fail",
}


def refusals_of(decision: Decision) -> list[Refusal]:
    return [outcome for outcome in decision.outcomes if isinstance(outcome, Refusal)]


def decision_record(decision: Decision, role: DecisionRole) -> DecisionRecord:
    """Its proposals and refusals travel in ``inputs["outcomes"]``."""
    refusal = next(iter(refusals_of(decision)), None)
    return DecisionRecord(
        engine_id=decision.engine_id,
        id=decision.decision_id,
        at_s=decision.at_s,
        controller=decision.controller,
        outcome=decision.action.value,
        role=role,
        topology=decision.topology,
        hints=dict(decision.hints),
        bypass=any(isinstance(o, Proposal) and o.bypass for o in decision.outcomes),
        reason=decision.reason,
        inputs={
            "sentence": decision.sentence,
            "previous": decision.previous,
            "applied": decision.applied,
            "outcomes": msgspec.to_builtins(decision.outcomes),
            "summary": decision.inputs,
        },
        refusal_kind=refusal.kind.value if refusal else None,
        refusal_detail=refusal.detail if refusal else "",
    )


def resume_records(state: ResumeState, now_s: float) -> list[Record]:
    """D_b by bucket, and the rest in one record."""
    rest = msgspec.to_builtins(msgspec.structs.replace(state, calibration={}))
    records: list[Record] = [
        ResumeRecord(engine_id=state.engine_id, payload=rest, updated_at_s=now_s)
    ]
    records += [
        CalibrationRecord(
            engine_id=state.engine_id, bucket=bucket, errors=list(errors), updated_at_s=now_s
        )
        for bucket, errors in state.calibration.items()
    ]
    return records


def resume_state(
    record: ResumeRecord, calibration: list[CalibrationRecord], last_version: int
) -> ResumeState:
    """The inverse of :func:`resume_records`.

    Raises:
        msgspec.ValidationError: written by a version that cannot be read any more.
    """
    # Infinities are stored as None: those fields have their defaults again.
    payload = {name: value for name, value in record.payload.items() if value is not None}
    state = msgspec.convert(payload, ResumeState)
    return msgspec.structs.replace(
        state,
        version=max(state.version, last_version),
        calibration={row.bucket: [round(error) for error in row.errors] for row in calibration},
    )
