"""State and records as the admin API shows them: nothing is lost, nothing is made up."""

from __future__ import annotations

import msgspec
import pytest

from hmas.controllers.decisions import Action, Decision, GuardEvent, GuardKind, Owner
from hmas.controllers.meta.base import Proposal, Refusal, RefusalKind
from hmas.controllers.views import Drift, GroupView, LengthMix, VLong, VShort
from hmas.daemon import wire
from hmas.daemon.control import shown
from hmas.daemon.control.engines import Delivery, Switch
from hmas.daemon.control.records import decision_record, directive_record, guard_record
from hmas.engine.clock import FakeClock
from hmas.engine.directive import Controls
from hmas.storage.memory import MemoryStore
from hmas.storage.records import (
    AckState,
    AuditRecord,
    DecisionRole,
    OverrideKind,
    OverrideRecord,
)
from tests.daemon.control.support import FakeLink, cycle_result, directive, managed


def test_every_owner_ack_and_kind_has_its_word() -> None:
    assert set(shown.OWNERS) == set(Owner)
    assert set(shown.ACKS) == set(AckState)
    assert set(shown.KINDS) == set(OverrideKind)


def test_what_was_not_measured_stays_unknown() -> None:
    point = shown.view_point(VShort(at_s=5.0, engine_id="e"), 10.0)
    given = point.model_dump(exclude_none=True)
    assert set(given) <= {"at_s", "window_s", "samples", "bypass"}


def test_all_that_both_sides_know_is_shown() -> None:
    view = VShort(
        at_s=5.0,
        engine_id="e",
        waiting=7,
        running=3,
        ttft_p95_ms=120.0,
        completions_per_s=4.0,
        goodput_per_s=3.0,
        n_run=8,
        topology="edf",
    )
    point = shown.view_point(view, 10.0)
    assert (point.queue_length, point.running, point.ttft_p95_ms) == (7, 3, 120.0)
    assert point.goodput_rate == 0.75
    assert (point.n_run, point.topology) == (8, "edf")


@pytest.mark.parametrize(("most_tokens", "shown_budget"), [(2048, 512), (1, None)])
def test_a_budget_is_shown_where_steps_can_be_bounded(
    most_tokens: int, shown_budget: int | None
) -> None:
    engine = managed(FakeLink(FakeClock()))
    described = FakeLink(FakeClock()).core.describe()
    limits = msgspec.structs.replace(described.limits, max_num_batched_tokens=most_tokens)
    engine.description = msgspec.structs.replace(described, limits=limits)
    budget = Controls(token_budget=512)
    sent = msgspec.structs.replace(directive(), controls=budget)
    engine.delivery = Delivery(sent, cycle_result(sent))
    assert shown.engine_status(engine, (), 1.0, 10.0).token_budget == shown_budget


def test_a_window_keeps_its_mix_and_its_drift() -> None:
    view = VLong(
        engine_id="e",
        start_s=10.0,
        end_s=20.0,
        completed=True,
        arrivals=40,
        prompt=LengthMix(shares={0: 1.0}, mean=100.0, variance=100.0),
        output=LengthMix(shares={0: 1.0}, mean=50.0, variance=25.0),
        tasks={"QA": GroupView(share=1.0, samples=40)},
        drift=[Drift.TASK_MIX],
    )
    point = shown.long_view_point(view)
    assert (point.at_s, point.window_s, point.requests) == (20.0, 10.0, 40)
    assert point.tasks == {"QA": 1.0}
    assert point.length_variation == pytest.approx(0.1)
    assert point.other["drift"] == ["task_mix"]


def test_a_switch_names_its_owner() -> None:
    switch = Switch(5.0, "fcfs", "edf", bypass=False, owner=Owner.PIN, sentence="pinned edf")
    out = shown.switch_out("e", switch)
    assert (out.before, out.after, out.owner) == ("fcfs", "edf", wire.Owner.PIN)


def test_an_override_counts_down() -> None:
    record = OverrideRecord(
        engine_id="*",
        id="pin-1",
        kind=OverrideKind.PIN,
        payload={"topology": "edf", "hints": {"aging_every": 8.0}},
        reason="because",
        owner="ada",
        created_at_s=1.0,
        expires_at_s=61.0,
    )
    assert shown.override_out(record, 31.0).remaining_s == 30.0
    assert shown.override_out(record, 99.0).remaining_s == 0.0
    endless = msgspec.structs.replace(record, expires_at_s=None)
    assert shown.override_out(endless, 31.0).remaining_s is None
    assert shown.override_out(record, 1.0).hints == {"aging_every": 8.0}


def test_a_directive_is_shown_as_it_was_sent_and_answered() -> None:
    controls = Controls(n_run=8, fence={0: 64})
    sent = msgspec.structs.replace(directive(4), controls=controls)
    delivery = Delivery(sent, cycle_result(owner=Owner.ROLLBACK, sentence="back to edf"))
    delivery.ack, delivery.reason, delivery.answered_at_s = AckState.NACKED, "no", 2.0
    store = MemoryStore()
    store.append([directive_record(delivery)])
    [record] = store.directives("engine0")
    out = shown.directive_out(record)
    assert (out.version, out.topology, out.n_run, out.fence) == (4, "edf", 8, {0: 64})
    assert (out.owner, out.ack, out.reason) == (wire.Owner.ROLLBACK, wire.AckState.NACK, "no")
    unknown = msgspec.structs.replace(record, owner="somebody")
    assert shown.directive_out(unknown).owner is wire.Owner.META


def test_a_decision_shows_proposals_and_refusals() -> None:
    decision = Decision(
        decision_id="e-1",
        at_s=5.0,
        engine_id="e",
        action=Action.SWITCH,
        previous="fcfs",
        topology="edf",
        controller="rules",
        reason="deadline misses",
        applied=True,
        sentence="switch fcfs -> edf: deadline misses",
        outcomes=[
            Refusal(controller="llm", kind=RefusalKind.TIMEOUT, detail="no answer within 2 s"),
            Proposal(controller="rules", topology="edf", reason="deadline misses"),
        ],
        inputs={"rps": 4.0},
    )
    store = MemoryStore()
    store.append([decision_record(decision, DecisionRole.PRIMARY)])
    [record] = store.decisions()
    out = shown.decision_out(record)
    refused, proposed = out.proposals
    assert refused.refusal is not None
    assert (refused.source, refused.refusal.kind) == ("llm", "timeout")
    assert (proposed.source, proposed.topology, proposed.refusal) == ("rules", "edf", None)
    assert (out.before, out.source, out.applied) == ("fcfs", "rules", True)
    assert out.inputs == {"rps": 4.0}


@pytest.mark.parametrize("kind", list(GuardKind))
def test_every_guard_event_is_shown(kind: GuardKind) -> None:
    event = GuardEvent(
        at_s=5.0, engine_id="e", kind=kind, topology="edf", reason="why", evidence={"ratio": 2.0}
    )
    out = shown.guard_out(guard_record(event))
    assert (out.action, out.sentence) == (kind.value, "why")
    assert out.measurements == {"ratio": 2.0}


def test_an_audit_row_says_why() -> None:
    row = AuditRecord(
        id="a", at_s=1.0, actor="ada", action="set pin", target="*", inputs={"reason": "unfair"}
    )
    assert shown.audit_out(row).sentence == "unfair"


def test_an_engine_that_has_said_nothing() -> None:
    engine = managed(FakeLink(FakeClock()))
    out = shown.engine_status(engine, (), 5.0, 10.0)
    assert (out.reachable, out.kind, out.topology, out.directive) == (False, "", None, None)
    assert out.owner is wire.Owner.DEFAULT
    assert out.sentence == "not asked yet"


def test_a_lease_counts_from_the_last_confirmation() -> None:
    engine = managed(FakeLink(FakeClock()))
    engine.delivery = Delivery(directive(4), cycle_result())
    engine.confirmed_at_s = 100.0
    assert shown.engine_status(engine, (), 104.9, 10.0).lease.expires_at_s == 105.0
    assert not shown.engine_status(engine, (), 104.9, 10.0).lease.expired
    assert shown.engine_status(engine, (), 105.1, 10.0).lease.expired


@pytest.mark.parametrize(
    ("completions", "good", "rate"),
    [(4.0, 3.0, 0.75), (4.0, 5.0, 1.0), (0.0, 0.0, None), (None, 3.0, None), (4.0, None, None)],
)
def test_goodput_rate(completions: float | None, good: float | None, rate: float | None) -> None:
    view = VShort(at_s=1.0, engine_id="e", completions_per_s=completions, goodput_per_s=good)
    assert shown.view_point(view, 10.0).goodput_rate == rate


def test_a_verdict_of_another_version_is_an_error() -> None:
    event = GuardEvent(at_s=5.0, engine_id="e", kind=GuardKind.NACK, topology="edf", reason="why")
    odd = msgspec.structs.replace(guard_record(event), verdict="maybe")
    assert shown.guard_out(odd).verdict is wire.Verdict.ERROR


def test_the_own_override_is_named_before_the_one_for_all() -> None:
    engine = managed(FakeLink(FakeClock()))
    engine.last_cycle = cycle_result(owner=Owner.PIN)
    both = tuple(
        wire.OverrideOut(
            id=target,
            kind=wire.OverrideKind.PIN,
            engine_id=target,
            owner=owner,
            reason="because",
            created_at_s=1.0,
            topology="edf",
        )
        for target, owner in (("*", "ada"), ("engine0", "bob"))
    )
    assert shown.set_by(engine, both) == "bob"
    assert shown.set_by(engine, both[:1]) == "ada"
    assert shown.set_by(engine, ()) == ""
