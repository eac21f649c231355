"""The daemon's state and records as the admin API shows them."""

from __future__ import annotations

from typing import Any

import msgspec

from hmas.controllers.decisions import Owner as Decider
from hmas.controllers.views import VLong, VShort
from hmas.daemon import wire
from hmas.daemon.control.engines import Delivery, ManagedEngine, Switch
from hmas.daemon.control.executor import BYPASSING
from hmas.engine.directive import Directive
from hmas.storage import records
from hmas.storage.records import OverrideKind

OWNERS = {
    Decider.KILL_SWITCH: wire.Owner.OPERATOR,
    Decider.BYPASS: wire.Owner.BYPASS,
    Decider.PIN: wire.Owner.PIN,
    Decider.ROLLBACK: wire.Owner.ROLLBACK,
    Decider.META: wire.Owner.META,
}
ACKS = {
    records.AckState.PENDING: wire.AckState.PENDING,
    records.AckState.ACKED: wire.AckState.ACK,
    records.AckState.NACKED: wire.AckState.NACK,
    records.AckState.UNREACHABLE: wire.AckState.NO_ANSWER,
}
KINDS = {
    OverrideKind.PIN: wire.OverrideKind.PIN,
    OverrideKind.CONTROLS: wire.OverrideKind.CONTROLS,
    OverrideKind.BYPASS_SWITCH: wire.OverrideKind.BYPASS,
}
_SAME_NAMES = frozenset(wire.ViewPoint.model_fields) & frozenset(VShort.__struct_fields__)


def view_point(view: VShort, window_s: float) -> wire.ViewPoint:
    """V_short; names that both sides share travel as they are."""
    same = {name: getattr(view, name) for name in _SAME_NAMES}
    decided, good = view.completions_per_s, view.goodput_per_s
    rate = min(1.0, good / decided) if decided and good is not None else None
    return wire.ViewPoint(**same, window_s=window_s, queue_length=view.waiting, goodput_rate=rate)


def long_view_point(view: VLong) -> wire.LongViewPoint:
    return wire.LongViewPoint(
        at_s=view.end_s,
        window_s=view.duration_s,
        requests=view.arrivals,
        rps=view.rps,
        rps_variation=view.rps_variation,
        prompt_tokens_mean=view.prompt.mean,
        output_tokens_mean=view.output.mean,
        length_variation=view.output.variation,
        ttft_violation_rate=view.ttft_violation_rate,
        tpot_violation_rate=view.tpot_violation_rate,
        goodput_rate=view.goodput_rate,
        ttft_p99_ms=view.ttft_p99_ms,
        tpot_p95_ms=view.tpot_p95_ms,
        hol_index=view.hol_index,
        fairness=view.fairness,
        mismatch=view.mismatch_mean,
        drift=float(len(view.drift)),
        tasks={name: group.share for name, group in view.tasks.items()},
        tenants={name: group.share for name, group in view.tenants.items()},
        other={"drift": [item.value for item in view.drift], "esg_per_s": view.esg_per_s},
    )


def switch_out(engine_id: str, switch: Switch) -> wire.TopologySwitch:
    return wire.TopologySwitch(
        at_s=switch.at_s,
        engine_id=engine_id,
        before=switch.before,
        after=switch.after,
        owner=OWNERS[switch.owner],
        sentence=switch.sentence,
        bypass=switch.bypass,
    )


def override_out(record: records.OverrideRecord, now_s: float) -> wire.OverrideOut:
    remaining_s = None
    if record.expires_at_s is not None:
        remaining_s = max(0.0, record.expires_at_s - now_s)
    return wire.OverrideOut(
        id=record.id,
        kind=KINDS[record.kind],
        engine_id=record.engine_id,
        owner=record.owner,
        reason=record.reason,
        created_at_s=record.created_at_s,
        expires_at_s=record.expires_at_s,
        remaining_s=remaining_s,
        topology=record.payload.get("topology"),
        hints=record.payload.get("hints", {}),
        n_run=record.payload.get("n_run"),
        token_budget=record.payload.get("token_budget"),
    )


def _token_budget(engine: ManagedEngine) -> int | None:
    """None: unbounded, or nothing of ours sits where steps could be bounded (a pump)."""
    description, delivery = engine.description, engine.delivery
    if delivery is None or (description and description.limits.max_num_batched_tokens == 1):
        return None
    return delivery.directive.controls.token_budget


def engine_status(
    engine: ManagedEngine,
    overrides: tuple[wire.OverrideOut, ...],
    now_s: float,
    window_s: float,
) -> wire.EngineStatus:
    """One engine now."""
    description, result = engine.description, engine.last_cycle
    view = result.v_short if result else None
    directive = engine.delivery.directive if engine.delivery else None
    return wire.EngineStatus(
        engine_id=engine.engine_id,
        kind=description.kind if description else "",
        kind_version=description.kind_version if description else "",
        model=description.model if description else "",
        reachable=engine.reachable,
        last_seen_s=engine.last_seen_s,
        topology=_topology(engine),
        owner=OWNERS[result.owner] if result else wire.Owner.DEFAULT,
        set_by=set_by(engine, overrides),
        set_at_s=engine.changed_at_s,
        sentence=(result.sentence if result else "") if engine.reachable else engine.problem,
        bypass=bool(result and result.owner in BYPASSING) or bool(view and view.lease_expired),
        directive=_directive_state(engine, now_s),
        lease=_lease(engine, now_s),
        doubt=(view.doubt if view else "") or (description.doubt if description else ""),
        v_short=view_point(view, window_s) if view else None,
        n_run=directive.controls.n_run if directive else None,
        token_budget=_token_budget(engine),
        limits=wire.LimitsOut(**msgspec.to_builtins(description.limits)) if description else None,
        topologies=tuple(description.topologies) if description else (),
        overrides=overrides,
        event_gaps=engine.missed_batches,
        events_dropped=engine.dropped_events,
    )


def _topology(engine: ManagedEngine) -> str | None:
    """What the engine was last told, or what it said it runs."""
    if engine.last_cycle is not None:
        return engine.last_cycle.topology
    active = engine.description.active if engine.description else None
    return active.topology if active else None


def set_by(engine: ManagedEngine, overrides: tuple[wire.OverrideOut, ...]) -> str:
    """The name behind the present owner."""
    result = engine.last_cycle
    if result is None:
        return ""
    kinds = {Decider.PIN: wire.OverrideKind.PIN, Decider.KILL_SWITCH: wire.OverrideKind.BYPASS}
    if result.owner in kinds:
        own = [o for o in overrides if o.kind is kinds[result.owner]]
        own.sort(key=lambda override: override.engine_id == wire.ALL_ENGINES)
        return own[0].owner if own else ""
    if result.owner is Decider.META:
        return engine.last_decision.controller if engine.last_decision else "default"
    return "guard"


def _directive_state(engine: ManagedEngine, now_s: float) -> wire.DirectiveState | None:
    delivery = engine.delivery
    if delivery is None:
        return None
    directive = delivery.directive
    confirmed_s = engine.confirmed_at_s or directive.issued_at_s
    return wire.DirectiveState(
        version=directive.version,
        issued_at_s=directive.issued_at_s,
        ttl_s=directive.ttl_s,
        age_s=max(0.0, now_s - max(confirmed_s, directive.issued_at_s)),
        ack=_ack(engine, delivery),
        reason=delivery.reason,
        active_version=engine.active_version,
    )


def _ack(engine: ManagedEngine, delivery: Delivery) -> wire.AckState:
    """A renewal may have brought over what could not be sent at first."""
    arrived = engine.active_version == delivery.directive.version
    if delivery.ack is records.AckState.UNREACHABLE and arrived and engine.reachable:
        return wire.AckState.ACK
    return ACKS[delivery.ack]


def _lease(engine: ManagedEngine, now_s: float) -> wire.LeaseState:
    if engine.confirmed_at_s is None or engine.delivery is None:
        return wire.LeaseState()
    end_s = engine.confirmed_at_s + engine.delivery.directive.ttl_s
    view = engine.last_cycle.v_short if engine.last_cycle else None
    return wire.LeaseState(
        expires_at_s=end_s, expired=now_s > end_s or bool(view and view.lease_expired)
    )


def decision_out(
    record: records.DecisionRecord, directive_version: int | None = None
) -> wire.DecisionOut:
    """``directive_version`` is that of the first directive it led to, None when it led to none."""
    outcomes: list[dict[str, Any]] = record.inputs.get("outcomes") or []
    return wire.DecisionOut(
        id=record.id,
        at_s=record.at_s,
        engine_id=record.engine_id,
        sentence=record.inputs.get("sentence") or record.reason,
        before=record.inputs.get("previous"),
        topology=record.topology,
        hints=record.hints,
        bypass=record.bypass,
        source=record.controller,
        applied=bool(record.inputs.get("applied")),
        proposals=tuple(_proposal(outcome, record) for outcome in outcomes),
        inputs=record.inputs.get("summary") or {},
        directive_version=directive_version,
        prompt_version=_prompt_version(outcomes),
    )


def _prompt_version(outcomes: list[dict[str, Any]]) -> str | None:
    versions = (outcome.get("prompt_version") for outcome in outcomes)
    return next((str(version) for version in versions if version is not None), None)


def _proposal(outcome: dict[str, Any], record: records.DecisionRecord) -> wire.ProposalOut:
    refusal = None
    if outcome.get("type") == "refusal":
        refusal = wire.RefusalOut(kind=outcome["kind"], detail=outcome.get("detail", ""))
    return wire.ProposalOut(
        source=outcome["controller"],
        primary=record.role is records.DecisionRole.PRIMARY,
        topology=outcome.get("topology"),
        hints=outcome.get("hints") or {},
        bypass=bool(outcome.get("bypass")),
        reason=outcome.get("reason", ""),
        refusal=refusal,
    )


def directive_out(record: records.DirectiveRecord) -> wire.DirectiveOut:
    directive = msgspec.convert(record.payload, Directive, strict=False)
    controls = directive.controls
    return wire.DirectiveOut(
        engine_id=record.engine_id,
        version=record.version,
        issued_at_s=record.issued_at_s,
        ttl_s=directive.ttl_s,
        topology=directive.topology,
        hints=directive.hints,
        bypass=directive.bypass,
        n_run=controls.n_run,
        token_budget=controls.token_budget,
        fence=controls.fence,
        kv_margin=controls.kv_margin,
        tpot_guard=controls.tpot_guard,
        owner=OWNERS.get(_decider(record.owner), wire.Owner.DEFAULT),
        cause=record.cause,
        sentence=record.sentence,
        ack=ACKS[record.ack],
        reason=record.ack_reason,
        answered_at_s=record.acked_at_s,
    )


def _decider(name: str) -> Decider:
    return Decider(name) if name in Decider.__members__.values() else Decider.META


def guard_out(record: records.GuardEventRecord) -> wire.GuardEventOut:
    verdicts = {verdict.value for verdict in wire.Verdict}
    return wire.GuardEventOut(
        id=f"{record.engine_id}-{record.at_s:.3f}-{record.guard}",
        at_s=record.at_s,
        engine_id=record.engine_id,
        guard=record.guard,
        verdict=wire.Verdict(record.verdict if record.verdict in verdicts else "error"),
        action=record.detail.get("kind", ""),
        sentence=record.detail.get("reason", ""),
        measurements=record.detail.get("evidence") or {},
    )


def audit_out(record: records.AuditRecord) -> wire.AuditOut:
    return wire.AuditOut(
        id=record.id,
        at_s=record.at_s,
        actor=record.actor,
        action=record.action,
        engine_id=record.engine_id,
        sentence=record.inputs.get("sentence") or record.inputs.get("reason") or "",
        inputs=record.inputs,
        result=record.result,
    )


def request_out(record: records.RequestRecord) -> wire.RequestOut:
    features = record.features
    return wire.RequestOut(
        request_id=record.request_id,
        engine_id=record.engine_id,
        tenant=record.tenant,
        task_type=record.task_type,
        known=bool(features.get("known")),
        arrived_at_s=record.arrival_s,
        finished_at_s=record.finished_at_s,
        outcome=record.outcome,
        prompt_tokens=record.prompt_tokens,
        output_tokens=record.output_tokens,
        predicted_output_tokens=record.predicted_output_tokens,
        slo_ttft_ms=features.get("slo_ttft_ms"),
        slo_tpot_ms=features.get("slo_tpot_ms"),
        ttft_ms=record.ttft_s * 1000.0,
        tpot_ms=record.tpot_s * 1000.0,
        queue_ms=record.queue_s * 1000.0,
        preemptions=record.preemptions,
        slo_ok=record.slo_ok,
    )
