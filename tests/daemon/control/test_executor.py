"""The executor: sends, renews in time, writes one audit row per directive, says one sentence."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest

from hmas.controllers.decisions import Action, Decision, GuardEvent, GuardKind, Owner
from hmas.controllers.engine_controller import EngineController
from hmas.controllers.meta.base import Refusal, RefusalKind
from hmas.daemon.control.executor import Executor
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import FakeClock
from hmas.storage.records import (
    AckState,
    AuditRecord,
    CalibrationRecord,
    DecisionRecord,
    DirectiveRecord,
    GuardEventRecord,
    OverrideKind,
    OverrideRecord,
    ResumeRecord,
    ViewRecord,
)
from tests.daemon.control.support import (
    FakeLink,
    Records,
    cycle_result,
    directive,
    managed,
    until,
)


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock(100.0)
        self.tasks = Tasks()
        self.records = Records()
        self.link = FakeLink(self.clock)
        self.engine = managed(self.link)
        self.executor = Executor(self.records, self.clock, self.tasks)

    async def settled(self) -> None:
        await until(lambda: not self.tasks, "all sent")


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.tasks.close()


async def test_a_directive_is_sent_recorded_and_audited_once(bench: Bench) -> None:
    bench.executor.carry_out(bench.engine, cycle_result(directive(7)), 100.0)
    await bench.settled()
    assert [sent.version for sent in bench.link.sent] == [7]
    written = bench.records.of(DirectiveRecord)
    assert [record.ack for record in written] == [AckState.PENDING, AckState.ACKED]
    assert {record.key for record in written} == {("engine0", 7)}
    [audit] = bench.records.of(AuditRecord)
    assert isinstance(audit, AuditRecord)
    assert (audit.actor, audit.action, audit.result) == ("meta", "directive", "acked")
    assert audit.inputs["sentence"].startswith("hold edf")
    assert audit.inputs["v_short"]["engine_id"] == "engine0"


async def test_the_answer_belongs_to_the_cycle_that_sent_the_directive(bench: Bench) -> None:
    bench.executor.carry_out(
        bench.engine, cycle_result(directive(1), owner=Owner.PIN, sentence="pinned edf"), 100.0
    )
    bench.executor.carry_out(bench.engine, cycle_result(sentence="hold edf"), 100.0)
    await bench.settled()
    last = bench.records.of(DirectiveRecord)[-1]
    assert isinstance(last, DirectiveRecord)
    assert (last.owner, last.sentence, last.ack) == ("pin", "pinned edf", AckState.ACKED)


async def test_a_refusal_is_in_the_record_and_in_the_audit(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.link.refuse = "no such topology"
    bench.executor.carry_out(bench.engine, cycle_result(directive(1)), 100.0)
    await bench.settled()
    [audit] = bench.records.of(AuditRecord)
    assert isinstance(audit, AuditRecord)
    assert audit.result == "nacked: no such topology"
    assert "engine0 directive 1: nacked: no such topology" in caplog.text


async def test_the_lease_is_renewed_five_times_as_often_as_needed(bench: Bench) -> None:
    active = directive(1)
    bench.executor.carry_out(bench.engine, cycle_result(active), 100.0)
    await bench.settled()
    for tenths in range(1, 21):
        now_s = 100.0 + tenths / 4
        bench.clock.set(now_s)
        bench.executor.carry_out(bench.engine, cycle_result(None, active), now_s)
        await bench.settled()
    assert len(bench.link.sent) == 1 + 5
    assert len(bench.records.of(AuditRecord)) == 1


async def test_an_unreachable_engine_is_asked_again_every_cycle(bench: Bench) -> None:
    bench.link.unreachable = "gone"
    active = directive(1)
    for number in range(4):
        result = cycle_result(active if number == 0 else None, active)
        bench.executor.carry_out(bench.engine, result, 100.0)
        await bench.settled()
    assert len(bench.link.sent) == 4
    bench.link.unreachable = ""
    bench.executor.carry_out(bench.engine, cycle_result(None, active), 100.0)
    await bench.settled()
    assert bench.engine.active_version == 1


async def test_switches_and_who_made_them_are_kept(bench: Bench) -> None:
    steps = [("fcfs", Owner.META), ("fcfs", Owner.META), ("edf", Owner.PIN), ("fcfs", Owner.BYPASS)]
    for second, (topology, owner) in enumerate(steps):
        result = cycle_result(topology=topology, owner=owner, sentence=f"{owner} {topology}")
        bench.executor.carry_out(bench.engine, result, 100.0 + second)
    kept = [(one.at_s, one.before, one.after, one.bypass) for one in bench.engine.history.switches]
    assert kept == [(102.0, "fcfs", "edf", False), (103.0, "edf", "fcfs", True)]
    assert bench.engine.changed_at_s == 103.0


async def test_the_sentence_is_loud_on_change_and_now_and_then(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        for quarter in range(200):
            now_s = 100.0 + quarter / 4
            topology = "fcfs" if quarter < 100 else "edf"
            result = cycle_result(topology=topology, sentence=f"hold {topology} {quarter}")
            bench.executor.carry_out(bench.engine, result, now_s)
    said = [record.getMessage() for record in caplog.records]
    assert said == ["engine0 hold fcfs 0", "engine0 hold edf 100"]


async def test_views_are_stored_once_a_second(bench: Bench) -> None:
    for quarter in range(9):
        now_s = 100.0 + quarter / 4
        bench.executor.carry_out(bench.engine, cycle_result(at_s=now_s), now_s)
    stored = [record.time_s for record in bench.records.of(ViewRecord)]
    assert stored == [100.0, 101.0, 102.0]
    assert [view.at_s for view in bench.engine.history.short] == stored


async def test_guard_events_are_recorded(bench: Bench) -> None:
    event = GuardEvent(
        at_s=100.0,
        engine_id="engine0",
        kind=GuardKind.ROLLBACK_FAIL,
        topology="edf",
        reason="violation rate 0.5 after 0.1",
        evidence={"ratio": 5.0},
    )
    result = cycle_result()
    bench.executor.carry_out(
        bench.engine,
        type(result)(
            v_short=result.v_short,
            directive=None,
            renew=None,
            owner=Owner.ROLLBACK,
            topology="fcfs",
            sentence="back to fcfs",
            guard_events=[event],
        ),
        100.0,
    )
    [record] = bench.records.of(GuardEventRecord)
    assert isinstance(record, GuardEventRecord)
    assert (record.guard, record.verdict) == ("rollback", "fail")
    assert record.detail["evidence"] == {"ratio": 5.0}


async def test_a_refused_answer_is_counted_and_kept_with_its_decision(bench: Bench) -> None:
    decision = Decision(
        decision_id="engine0-1",
        at_s=100.0,
        engine_id="engine0",
        action=Action.HOLD,
        previous="edf",
        topology="edf",
        controller="rules",
        reason="calm",
        applied=True,
        sentence="hold edf: calm",
        outcomes=[Refusal(controller="llm", kind=RefusalKind.NOT_JSON, detail="Sure! Here")],
    )
    bench.executor.decided(bench.engine, decision)
    [record] = bench.records.of(DecisionRecord)
    assert isinstance(record, DecisionRecord)
    assert (record.refusal_kind, record.refusal_detail) == ("not_json", "Sure! Here")
    assert record.inputs["outcomes"][0]["kind"] == "not_json"
    assert bench.executor.refusals == {"not_json": 1}
    [audit] = bench.records.of(AuditRecord)
    assert isinstance(audit, AuditRecord)
    assert (audit.actor, audit.action, audit.result) == ("rules", "decision", "applied")


async def test_what_a_restart_needs_is_kept(bench: Bench) -> None:
    bench.executor.keep_resume_state(bench.engine, 100.0)
    assert bench.records.kept == []
    bench.engine.controller = EngineController(bench.link.core.describe())
    bench.executor.keep_resume_state(bench.engine, 100.0)
    [record] = bench.records.of(ResumeRecord)
    assert record.engine_id == "engine0"
    assert bench.records.of(CalibrationRecord) == []


async def test_an_operators_change_is_recorded_and_audited(bench: Bench) -> None:
    record = OverrideRecord(
        engine_id="engine0",
        id="pin-1",
        kind=OverrideKind.PIN,
        payload={"topology": "edf"},
        reason="deadline misses",
        owner="op",
        created_at_s=100.0,
    )
    bench.executor.override_changed(record, actor="op", action="set")
    assert bench.records.of(OverrideRecord) == [record]
    [audit] = bench.records.of(AuditRecord)
    assert isinstance(audit, AuditRecord)
    assert (audit.actor, audit.action) == ("op", "set pin")
    assert audit.inputs["topology"] == "edf"
