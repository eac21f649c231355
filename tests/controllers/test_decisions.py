from __future__ import annotations

import msgspec

from hmas.controllers.decisions import Action, Decision, GuardEvent, GuardKind, ResumeState
from hmas.controllers.meta.base import Proposal, Refusal, RefusalKind
from hmas.engine.directive import StepModel


def test_records_travel_as_json() -> None:
    decision = Decision(
        decision_id="engine0-1",
        at_s=1.0,
        engine_id="engine0",
        action=Action.SWITCH,
        previous="fcfs",
        topology="edf",
        hints={"first_token": 1.0},
        controller="rules",
        reason="deadline misses",
        applied=True,
        sentence="switch fcfs -> edf: deadline misses",
        outcomes=[
            Refusal(controller="llm", kind=RefusalKind.TIMEOUT, detail="10 s"),
            Proposal(controller="rules", topology="edf", reason="deadline misses"),
        ],
        inputs={"violation_rate": 0.3, "drift": ["task_mix"]},
    )
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision
    event = GuardEvent(
        at_s=1.0, engine_id="e", kind=GuardKind.ROLLBACK_FAIL, topology="edf", reason="r"
    )
    assert msgspec.json.decode(msgspec.json.encode(event), type=GuardEvent) == event


def test_resume_state_travels_as_json() -> None:
    state = ResumeState(
        engine_id="engine0",
        version=7,
        topology="edf",
        stable_topology="fcfs",
        quarantine={"sjf": 99.5},
        calibration={3: [1, -2, 3]},
        step_model=StepModel(base_ms=1.0, prefill_ms=0.1, context_ms=0.0, sequence_ms=0.2),
    )
    assert msgspec.json.decode(msgspec.json.encode(state), type=ResumeState) == state
