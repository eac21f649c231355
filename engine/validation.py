"""Directives are refused before they touch the engine; the message names the field."""

from __future__ import annotations

import math

from hmas.engine.directive import Controls, Directive, EngineLimits, StepModel
from hmas.engine.topologies import InvalidHintError, UnknownTopologyError, topology_class


class InvalidDirectiveError(ValueError):
    """Why a directive is refused."""


def checked(directive: Directive, limits: EngineLimits) -> Directive:
    """The directive itself. Raises :class:`InvalidDirectiveError`."""
    try:
        topology_class(directive.topology).checked_hints(directive.hints)
    except (UnknownTopologyError, InvalidHintError) as error:
        raise InvalidDirectiveError(str(error)) from error
    _check_controls(directive.controls, limits)
    return directive


def _check_controls(controls: Controls, limits: EngineLimits) -> None:
    _check_range("controls.n_run", controls.n_run, 1, limits.max_num_seqs)
    _check_range("controls.token_budget", controls.token_budget, 1, limits.max_num_batched_tokens)
    _check_range("controls.kv_margin", controls.kv_margin, 0.0, 0.9)
    _check_range("controls.tpot_guard", controls.tpot_guard, 0.01, 10.0)
    if controls.fence is not None:
        if not controls.fence:
            raise InvalidDirectiveError("controls.fence is empty; leave it out to admit unfenced")
        for bucket, tokens in controls.fence.items():
            _check_range(f"controls.fence[{bucket}]", tokens, -(10**7), 10**7)
    if controls.step_model is not None:
        _check_step_model(controls.step_model)


def _check_range(field: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low <= value <= high:
        raise InvalidDirectiveError(f"{field} must lie in [{low}, {high}], got {value}")


def _check_step_model(model: StepModel) -> None:
    for field in ("base_ms", "prefill_ms", "context_ms", "sequence_ms", "prefill_quadratic_ms"):
        value = getattr(model, field)
        if not math.isfinite(value) or value < 0:
            raise InvalidDirectiveError(
                f"controls.step_model.{field} must be finite and not negative, got {value}"
            )
