from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from hmas.controllers.config import (
    BypassConfig,
    CalibrationConfig,
    ControlConfig,
    RollbackConfig,
    RulesConfig,
    StateraConfig,
    StepFitConfig,
    ViewConfig,
)

ADAPTER = TypeAdapter(ControlConfig)


def test_defaults_are_valid_and_documented() -> None:
    config = ControlConfig()
    assert (config.cycle_s, config.meta_s, config.ttl_s) == (0.25, 60.0, 5.0)
    assert config.views.long_window_s == 10.0
    assert config.calibration.epsilon == 0.1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ViewConfig(long_window_s=0), "views.long_window_s must be greater than 0"),
        (lambda: CalibrationConfig(epsilon=0.9), "calibration.epsilon must be between"),
        (lambda: CalibrationConfig(window=30, min_bucket=31), "calibration.min_bucket"),
        (lambda: StepFitConfig(max_error=0), "step_fit.max_error"),
        (lambda: StateraConfig(u_low=1.0), "statera.u_low must be less than statera.u_high"),
        (lambda: StateraConfig(kv_margin=1.5), "statera.kv_margin"),
        (lambda: RulesConfig(calm_rate=0.2, overload_rate=0.1), "rules.overload_rate"),
        (lambda: BypassConfig(violation_exit=0.99), "bypass.violation_exit must be less than"),
        (lambda: BypassConfig(min_stay_s=90), "bypass.max_stay_s"),
        (lambda: RollbackConfig(rho=1.0), "rollback.rho must be greater than 1"),
        (lambda: RollbackConfig(rho=float("nan")), "rollback.rho must be greater than 1"),
        (lambda: ControlConfig(cycle_s=6.0), "cycle_s must be less than ttl_s"),
        (lambda: ControlConfig(meta_s=5.0), "meta_s must be at least 10"),
    ],
)
def test_a_bad_value_names_its_field(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_settings_files_may_set_single_fields() -> None:
    config = ADAPTER.validate_python({"rollback": {"rho": 2}, "ttl_s": 10})
    assert config.rollback.rho == 2.0
    assert config.rollback.window_s == RollbackConfig().window_s
    assert config.ttl_s == 10.0


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"rolback": {}}, "rolback"),
        ({"rollback": {"roh": 2}}, "roh"),
        ({"views": {"min_samples": "many"}}, "min_samples"),
        ({"bypass": {"violation_enter": 2}}, "violation_enter"),
    ],
)
def test_unknown_keys_and_wrong_values_are_errors(data: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError, match=where):
        ADAPTER.validate_python(data)


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ControlConfig().ttl_s = 3.0  # type: ignore[misc]


def test_first_hints_belong_to_the_first_topology() -> None:
    assert ControlConfig().first_hints() == {}
    shortest_first = {"by_work": 1.0, "aging_every": 100.0}
    assert ControlConfig(initial_topology="sjf").first_hints() == shortest_first
    assert ControlConfig(initial_topology="edf").first_hints() == {}
    assert ControlConfig(initial_hints={"aging_every": 7.0}).first_hints() == {"aging_every": 7.0}
