"""Checks of an operator's input that need to know the fleet: pure, every problem named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hmas.daemon.admin.port import InvalidInputError, UnknownThingError
from hmas.daemon.wire import (
    ALL_ENGINES,
    ControlsRequest,
    EngineStatus,
    FleetStatus,
    OverrideRequest,
    PinRequest,
    TopologyOut,
)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def engine_named(engine_id: str, fleet: FleetStatus) -> EngineStatus:
    """Raises :class:`UnknownThingError` when no engine has this id."""
    for engine in fleet.engines:
        if engine.engine_id == engine_id:
            return engine
    raise UnknownThingError(
        f"there is no engine {engine_id!r}",
        field="engine_id",
        fix=f"use one of: {_listed(engine.engine_id for engine in fleet.engines)}",
    )


def targets(engine_id: str, fleet: FleetStatus) -> list[EngineStatus]:
    """The engines an override is for. Raises as :func:`engine_named` does."""
    return list(fleet.engines) if engine_id == ALL_ENGINES else [engine_named(engine_id, fleet)]


def check_override(request: OverrideRequest, fleet: FleetStatus) -> list[EngineStatus]:
    """Target and end of any override; returns the engines it is for.

    Raises:
        UnknownThingError: no such engine.
        InvalidInputError: the end is not in the future.
    """
    if request.expires_at_s is not None and request.expires_at_s <= fleet.now_s:
        raise InvalidInputError(
            f"expires_at_s is {fleet.now_s - request.expires_at_s:.0f} s in the past",
            field="expires_at_s",
            fix="give a later time, or duration_s",
        )
    return targets(request.engine_id, fleet)


def check_pin(request: PinRequest, fleet: FleetStatus, pool: Sequence[TopologyOut]) -> None:
    """Topology in Ω and known to every target; hints known and within their bounds.

    Raises:
        UnknownThingError, InvalidInputError: as above, and for topology and hints.
    """
    engines = check_override(request, fleet)
    by_name = {topology.name: topology for topology in pool}
    topology = by_name.get(request.topology)
    if topology is None:
        raise InvalidInputError(
            f"there is no topology {request.topology!r}",
            field="topology",
            fix=f"use one of: {_listed(by_name)}",
        )
    for engine in engines:
        if engine.topologies and topology.name not in engine.topologies:
            raise InvalidInputError(
                f"engine {engine.engine_id} does not have topology {topology.name!r}",
                field="topology",
                fix=f"use one of: {_listed(engine.topologies)}",
            )
    _check_hints(request.hints, topology)


def _check_hints(hints: dict[str, float], topology: TopologyOut) -> None:
    known = {hint.name: hint for hint in topology.hints}
    for name, value in hints.items():
        hint = known.get(name)
        if hint is None:
            raise InvalidInputError(
                f"{topology.name} has no hint {name!r}",
                field=f"hints.{name}",
                fix=f"use: {_listed(known)}",
            )
        if not hint.minimum <= value <= hint.maximum:
            raise InvalidInputError(
                f"{name} is {value:g}, outside {hint.minimum:g} to {hint.maximum:g}",
                field=f"hints.{name}",
                fix=f"choose between {hint.minimum:g} and {hint.maximum:g} {hint.unit}".strip(),
            )


def check_controls(request: ControlsRequest, fleet: FleetStatus) -> None:
    """N_run and B_token within what every target was started with.

    Raises:
        UnknownThingError, InvalidInputError: as above, and for both controls.
    """
    for engine in check_override(request, fleet):
        if engine.limits is not None:
            _check_bound("n_run", request.n_run, engine.limits.max_num_seqs, engine.engine_id)
            _check_bound(
                "token_budget",
                request.token_budget,
                engine.limits.max_num_batched_tokens,
                engine.engine_id,
            )


def _check_bound(field: str, value: int | None, bound: int, engine_id: str) -> None:
    if value is not None and value > bound:
        raise InvalidInputError(
            f"{field} is {value}, engine {engine_id} was started with at most {bound}",
            field=field,
            fix=f"choose between 1 and {bound}",
        )
