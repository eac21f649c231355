"""The models of the admin API: requests are strict, answers are tolerant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import hmas.daemon.wire
from hmas.daemon.wire import (
    Answer,
    BypassRequest,
    ControlsRequest,
    DecisionOut,
    EngineStatus,
    FleetStatus,
    OverrideRequest,
    Owner,
    PinRequest,
    ViewPoint,
)


def test_an_override_is_for_all_engines_until_removed_unless_told_otherwise() -> None:
    request = PinRequest(topology="edf", reason="because")
    assert request.engine_id == "*"
    assert request.end_s(100.0) is None


def test_a_duration_counts_from_now_and_an_end_is_absolute() -> None:
    assert BypassRequest(reason="incident", duration_s=60).end_s(100.0) == 160.0
    assert BypassRequest(reason="incident", expires_at_s=500).end_s(100.0) == 500.0


def test_duration_and_end_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="duration_s and expires_at_s exclude each other"):
        PinRequest(topology="edf", reason="because", duration_s=1, expires_at_s=2)


def test_controls_without_a_control_say_what_to_give() -> None:
    with pytest.raises(ValidationError, match="give n_run, token_budget or both"):
        ControlsRequest(reason="because")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reason", "  "),
        ("reason", "x" * 257),
        ("engine_id", ""),
        ("duration_s", 0),
        ("duration_s", 31 * 86_400),
        ("duration_s", float("nan")),
        ("expected_revision", -1),
        ("topology", ""),
        ("colour", "blue"),
    ],
)
def test_bad_fields_are_named(field: str, value: object) -> None:
    body = {"topology": "edf", "reason": "because", field: value}
    with pytest.raises(ValidationError) as caught:
        PinRequest.model_validate(body)
    assert caught.value.errors()[0]["loc"] == (field,)


@given(n_run=st.integers(1, 1_000_000), token_budget=st.integers(1, 100_000_000) | st.none())
def test_controls_survive_the_wire(n_run: int, token_budget: int | None) -> None:
    request = ControlsRequest(n_run=n_run, token_budget=token_budget, reason="because")
    assert ControlsRequest.model_validate_json(request.model_dump_json()) == request


def test_requests_are_frozen() -> None:
    request: OverrideRequest = BypassRequest(reason="incident")
    with pytest.raises(ValidationError, match="frozen"):
        request.reason = "other"  # type: ignore[misc]


def test_an_engine_never_reached_needs_nothing_but_its_name() -> None:
    engine = EngineStatus(engine_id="engine0", reachable=False)
    assert engine.topology is None
    assert engine.directive is None
    assert engine.owner is Owner.DEFAULT


def test_a_newer_daemon_may_say_more_than_we_know() -> None:
    text = """{"now_s": 1, "started_at_s": 0, "version": "9", "revision": 3, "mood": "fine",
               "engines": [{"engine_id": "a", "reachable": true, "gears": 6}]}"""
    fleet = FleetStatus.model_validate_json(text)
    assert [engine.engine_id for engine in fleet.engines] == ["a"]


def test_owners_are_listed_strongest_first() -> None:
    assert list(Owner) == ["operator", "bypass", "pin", "rollback", "meta", "default"]


def test_what_was_not_measured_is_null_and_not_zero() -> None:
    view = ViewPoint(at_s=1.0, window_s=5.0)
    measured = view.model_dump(exclude={"at_s", "window_s", "samples", "bypass"})
    assert set(measured.values()) == {None}


def test_evidence_is_any_json() -> None:
    text = """{"id": "d1", "at_s": 1, "engine_id": "a", "sentence": "hold fcfs",
               "inputs": {"tasks": {"QA": 0.5}, "drift": ["task_mix"], "fairness": null}}"""
    decision = DecisionOut.model_validate_json(text)
    assert decision.inputs["tasks"] == {"QA": 0.5}
    assert DecisionOut.model_validate_json(decision.model_dump_json()) == decision


def test_all_that_is_exported_is_described() -> None:
    for name in hmas.daemon.wire.__all__:
        exported = getattr(hmas.daemon.wire, name)
        if isinstance(exported, type) and issubclass(exported, Answer):
            assert exported.__doc__, f"{name} needs a docstring: it is shown in OpenAPI"
