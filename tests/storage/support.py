"""Records for the storage room's tests."""

from __future__ import annotations

from typing import Any

from hmas.storage.records import (
    AckState,
    AuditRecord,
    CalibrationRecord,
    DecisionRecord,
    DirectiveRecord,
    GuardEventRecord,
    Horizon,
    OverrideKind,
    OverrideRecord,
    PromptVersionRecord,
    Record,
    RequestRecord,
    ResumeRecord,
    TrainingRecord,
    ViewRecord,
)


def view(at_s: float = 1.0, **fields: Any) -> ViewRecord:
    values = {"engine_id": "engine0", "horizon": Horizon.SHORT, "payload": {"waiting": 3}} | fields
    return ViewRecord(at_s=at_s, **values)


def decision(id_: str = "d1", at_s: float = 1.0, **fields: Any) -> DecisionRecord:
    values = {"engine_id": "engine0", "controller": "rules", "outcome": "accepted"} | fields
    return DecisionRecord(id=id_, at_s=at_s, **values)


def directive(version: int = 1, **fields: Any) -> DirectiveRecord:
    values = {
        "engine_id": "engine0",
        "issued_at_s": float(version),
        "payload": {"topology": "edf"},
        "owner": "meta",
    } | fields
    return DirectiveRecord(version=version, **values)


def override(id_: str = "o1", **fields: Any) -> OverrideRecord:
    values = {
        "engine_id": "engine0",
        "kind": OverrideKind.PIN,
        "payload": {"topology": "sjf"},
        "reason": "load test",
        "owner": "ana",
        "created_at_s": 10.0,
    } | fields
    return OverrideRecord(id=id_, **values)


def guard_event(at_s: float = 1.0, **fields: Any) -> GuardEventRecord:
    values = {"engine_id": "engine0", "guard": "rollback", "verdict": "pass"} | fields
    return GuardEventRecord(at_s=at_s, **values)


def calibration(bucket: int = 0, **fields: Any) -> CalibrationRecord:
    values = {"engine_id": "engine0", "errors": [-1.0, 2.5], "updated_at_s": 1.0} | fields
    return CalibrationRecord(bucket=bucket, **values)


def finished(id_: str = "r1", at_s: float = 2.0, **fields: Any) -> RequestRecord:
    values = {
        "engine_id": "engine0",
        "tenant": "acme",
        "task_type": "QA",
        "arrival_s": 1.0,
        "prompt_tokens": 100,
        "predicted_output_tokens": 60,
        "output_tokens": 50,
        "ttft_s": 0.2,
        "tpot_s": 0.01,
        "queue_s": 0.1,
        "preemptions": 0,
        "outcome": "completed",
        "ttft_ok": True,
        "tpot_ok": True,
    } | fields
    return RequestRecord(request_id=id_, finished_at_s=at_s, **values)


def prompt(version: int = 1, **fields: Any) -> PromptVersionRecord:
    values = {
        "name": "meta_controller",
        "sha256": "0" * 64,
        "text": "decide",
        "created_at_s": 1.0,
        "author": "ana",
    } | fields
    return PromptVersionRecord(version=version, **values)


def audit(id_: str = "a1", at_s: float = 1.0, **fields: Any) -> AuditRecord:
    values = {"actor": "ana", "action": "pin", "target": "engine0"} | fields
    return AuditRecord(id=id_, at_s=at_s, **values)


def resume(**fields: Any) -> ResumeRecord:
    values = {"engine_id": "engine0", "payload": {"topology": "edf"}, "updated_at_s": 1.0}
    return ResumeRecord(**(values | fields))


def learned(id_: str = "t1", at_s: float = 1.0, **fields: Any) -> TrainingRecord:
    values = {
        "tenant": "acme",
        "task_type": "QA",
        "model": "tiny",
        "prompt_tokens": 100,
        "predicted_output_tokens": 60,
        "output_tokens": 50,
        "ttft_s": 0.2,
        "tpot_s": 0.01,
        "payload": {"session": "5f", "numbers": [1.5, -1.0], "words": [3, 900]},
    } | fields
    return TrainingRecord(id=id_, at_s=at_s, **values)


def one_of_each() -> list[Record]:
    return [
        view(),
        decision(effect={"violation_rate": [0.1, 0.2]}, hints={"short_share": 0.5}),
        directive(ack=AckState.ACKED, acked_at_s=2.0, step=7, cause="d1", sentence="hold"),
        override(expires_at_s=20.0, revoked_at_s=15.0, revoked_by="bob"),
        guard_event(topology_from="sjf", topology_to="edf", detail={"p99": 1.5}),
        calibration(),
        finished(features={"tenant": "acme"}),
        prompt(),
        audit(inputs={"topology": "sjf"}, result="done"),
        resume(),
        learned(),
    ]
