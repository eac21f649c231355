"""Checks against the fleet: every target counts, every problem is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.admin.checks import check_controls, check_override, check_pin, targets
from hmas.daemon.admin.pool import topology_pool
from hmas.daemon.admin.port import InvalidInputError, UnknownThingError
from hmas.daemon.wire import (
    BypassRequest,
    ControlsRequest,
    EngineStatus,
    FleetStatus,
    LimitsOut,
    PinRequest,
)


def limits(seqs: int) -> LimitsOut:
    return LimitsOut(
        max_num_seqs=seqs,
        max_num_batched_tokens=2048,
        kv_blocks=100,
        block_size=16,
        max_model_len=4096,
    )


FLEET = FleetStatus(
    now_s=1000.0,
    started_at_s=0.0,
    version="1",
    revision=0,
    engines=(
        EngineStatus(
            engine_id="large",
            reachable=True,
            limits=limits(256),
            topologies=("fcfs", "edf", "two_lane"),
        ),
        EngineStatus(
            engine_id="small", reachable=True, limits=limits(16), topologies=("fcfs", "edf")
        ),
        EngineStatus(engine_id="new", reachable=False),
    ),
)


def test_a_star_is_everybody() -> None:
    assert [engine.engine_id for engine in targets("*", FLEET)] == ["large", "small", "new"]
    with pytest.raises(UnknownThingError, match="no engine 'larg'"):
        targets("larg", FLEET)


def test_the_smallest_target_bounds_the_controls() -> None:
    check_controls(ControlsRequest(engine_id="large", n_run=200, reason="because"), FLEET)
    with pytest.raises(InvalidInputError, match="engine small was started with at most 16"):
        check_controls(ControlsRequest(n_run=200, reason="because"), FLEET)


def test_an_engine_never_reached_bounds_nothing() -> None:
    check_controls(ControlsRequest(engine_id="new", n_run=999, reason="because"), FLEET)


def test_every_target_must_have_the_topology() -> None:
    pool = topology_pool()
    request = PinRequest(topology="two_lane", reason="because")
    with pytest.raises(InvalidInputError, match="small does not have topology 'two_lane'"):
        check_pin(request, FLEET, pool)
    check_pin(request.model_copy(update={"engine_id": "large"}), FLEET, pool)


def test_an_end_in_the_past_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="100 s in the past") as caught:
        check_override(BypassRequest(reason="because", expires_at_s=900), FLEET)
    assert caught.value.field == "expires_at_s"


@given(value=st.floats(allow_nan=True, allow_infinity=True))
def test_hints_stay_within_their_bounds(value: float) -> None:
    hint = next(t for t in topology_pool() if t.name == "two_lane").hints[0]
    request = PinRequest.model_construct(
        engine_id="large", topology="two_lane", reason="because", hints={hint.name: value}
    )
    inside = hint.minimum <= value <= hint.maximum
    if inside:
        check_pin(request, FLEET, topology_pool())
    else:
        with pytest.raises(InvalidInputError, match=hint.name):
            check_pin(request, FLEET, topology_pool())
