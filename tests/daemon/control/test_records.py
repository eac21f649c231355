"""What the controllers said survives storage."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.decisions import Action, Decision, GuardEvent, GuardKind, ResumeState
from hmas.controllers.views import VShort
from hmas.daemon.control.engines import Delivery
from hmas.daemon.control.records import (
    decision_record,
    directive_record,
    guard_record,
    resume_records,
    resume_state,
    short_view_record,
)
from hmas.engine.directive import Controls, Directive, StepModel
from hmas.storage.memory import MemoryStore
from hmas.storage.records import (
    CalibrationRecord,
    DecisionRole,
    Horizon,
    ResumeRecord,
)
from tests.daemon.control.support import cycle_result, directive


def stored(state: ResumeState, last_version: int = 0) -> ResumeState:
    """The state after a round trip through a store."""
    store = MemoryStore()
    store.append(resume_records(state, 5.0))
    record = store.resume(state.engine_id)
    assert record is not None
    return resume_state(record, store.calibration(state.engine_id), last_version)


@given(
    st.dictionaries(st.integers(0, 9), st.lists(st.integers(-5000, 5000), max_size=20), max_size=5),
    st.integers(0, 2**40),
)
def test_d_b_and_versions_come_back(calibration: dict[int, list[int]], version: int) -> None:
    state = ResumeState(
        engine_id="engine0",
        version=version,
        topology="edf",
        stable_topology="fcfs",
        calibration=calibration,
        quarantine={"sjf": 12.5},
    )
    assert stored(state) == state


def test_the_version_is_the_highest_known() -> None:
    state = ResumeState(engine_id="e", version=7, topology="edf", stable_topology="edf")
    assert stored(state, last_version=12).version == 12
    assert stored(state, last_version=3).version == 7


def test_infinities_do_not_survive_and_do_no_harm() -> None:
    state = ResumeState(
        engine_id="e", version=1, topology="edf", stable_topology="edf", chosen_at_s=-math.inf
    )
    assert stored(state).chosen_at_s == 0.0


def test_a_directive_comes_back_from_storage_as_it_was_sent() -> None:
    model = StepModel(base_ms=5.0, prefill_ms=0.1, context_ms=0.001, sequence_ms=0.2)
    controls = Controls(n_run=8, token_budget=512, fence={0: 64, 9: 4096}, step_model=model)
    sent = msgspec.structs.replace(directive(4), controls=controls, hints={"aging_every": 8.0})
    store = MemoryStore()
    store.append([directive_record(Delivery(sent, cycle_result(sentence="hold edf")))])
    [record] = store.directives("engine0")
    assert (record.version, record.sentence) == (4, "hold edf")
    assert msgspec.convert(record.payload, Directive, strict=False) == sent


@pytest.mark.parametrize("kind", list(GuardKind))
def test_every_guard_event_can_be_kept(kind: GuardKind) -> None:
    event = GuardEvent(at_s=1.0, engine_id="e", kind=kind, topology="edf", reason="why")
    record = guard_record(event)
    assert record.verdict in {"pass", "fail", "inconclusive", "error"}
    assert record.detail["kind"] == kind.value


def test_a_decision_keeps_its_evidence() -> None:
    decision = Decision(
        decision_id="e-1",
        at_s=1.0,
        engine_id="e",
        action=Action.HOLD,
        previous="edf",
        topology="edf",
        controller="rules",
        reason="calm",
        applied=True,
        sentence="hold edf: calm",
        inputs={"rps": 3.5},
    )
    record = decision_record(decision, DecisionRole.SHADOW)
    assert record.role is DecisionRole.SHADOW
    assert record.inputs["summary"] == {"rps": 3.5}


def test_a_view_is_plain_data() -> None:
    record = short_view_record(VShort(at_s=3.0, engine_id="e", waiting=4))
    assert (record.horizon, record.time_s) == (Horizon.SHORT, 3.0)
    assert record.payload["waiting"] == 4


def test_d_b_is_kept_by_bucket() -> None:
    state = ResumeState(
        engine_id="e", version=1, topology="edf", stable_topology="edf", calibration={3: [1, -2]}
    )
    kinds = [type(record) for record in resume_records(state, 5.0)]
    assert kinds == [ResumeRecord, CalibrationRecord]
