from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.bench.scenarios.base import Ask, Made
from hmas.bench.scenarios.staged import (
    INTERACTIVE,
    LONG_GENERATION,
    SHORT_TOKENS,
    Shape,
    bursts,
    drifting_share,
    semantic_drift,
    shaped,
    shifting_share,
    shifts,
    steady,
    stress,
)

RUN_S = 600.0


def made(rps: float, rate: Shape = steady, seed: int = 0) -> Made:
    return shaped(rps, rate)(Ask(seed, RUN_S, None))


def rate_between(requests: Made, from_s: float, to_s: float) -> float:
    inside = [r for r in requests.requests if from_s <= r.arrival_s < to_s]
    return len(inside) / (to_s - from_s)


def test_the_stress_test_follows_equation_13() -> None:
    requests = made(40.0, stress)
    assert rate_between(requests, 0, 200) == pytest.approx(24, rel=0.1)
    assert rate_between(requests, 200, 400) == pytest.approx(56, rel=0.1)
    high = [rate_between(requests, at, at + 10) for at in range(400, 600, 20)]
    low = [rate_between(requests, at + 10, at + 20) for at in range(400, 600, 20)]
    assert np.mean(high) == pytest.approx(72, rel=0.1)
    assert np.mean(low) == pytest.approx(8, rel=0.2)


@pytest.mark.parametrize("rate", [steady, bursts, shifts])
def test_the_long_run_load_of_a_slice_is_its_rate(rate: Shape) -> None:
    requests = made(20.0, rate)
    assert len(requests.requests) / RUN_S == pytest.approx(20, rel=0.05)


def test_the_fast_slice_has_bursts_and_no_drift() -> None:
    requests = made(20.0, bursts)
    assert rate_between(requests, 30, 35) == pytest.approx(70, rel=0.15)
    assert rate_between(requests, 35, 60) == pytest.approx(10, rel=0.25)
    halves = rate_between(requests, 0, 300), rate_between(requests, 300, 600)
    assert halves[0] == pytest.approx(halves[1], rel=0.1)


def test_the_medium_slice_drifts_in_token_demand_only() -> None:
    requests = shaped(20.0, steady, drifting_share)(Ask(0, RUN_S, None)).requests
    first = [r.prompt_tokens for r in requests if r.arrival_s < 200]
    last = [r.prompt_tokens for r in requests if r.arrival_s >= 400]
    assert np.mean(last) > 1.8 * np.mean(first)
    assert len(last) == pytest.approx(len(first), rel=0.1)


def test_the_slow_slice_shifts_rate_and_mix_for_good() -> None:
    made_slow = shaped(20.0, shifts, shifting_share)(Ask(0, RUN_S, None))
    assert rate_between(made_slow, 0, 200) == pytest.approx(12, rel=0.1)
    assert rate_between(made_slow, 200, 400) == pytest.approx(26, rel=0.1)
    code = [r.source == "coding" for r in made_slow.requests if r.arrival_s >= 400]
    assert np.mean(code) == pytest.approx(0.6, abs=0.05)


def test_the_semantic_drift_goes_through_three_regimes() -> None:
    drift = semantic_drift(10.0)(Ask(1, RUN_S, None))
    assert drift.tasks is not None
    phases: tuple[list[int], ...] = ([], [], [])
    for index, request in enumerate(drift.requests):
        phases[min(2, int(request.arrival_s / 200))].append(index)
    assert {drift.tasks[i] for i in phases[0]} <= set(INTERACTIVE)
    assert {drift.tasks[i] for i in phases[1]} <= set(LONG_GENERATION)
    assert {drift.tasks[i] for i in phases[2]} > set(INTERACTIVE)
    outputs = [np.mean([drift.requests[i].output_tokens for i in phase]) for phase in phases]
    assert outputs[0] < SHORT_TOKENS / 2 < outputs[1]


@given(seed=st.integers(0, 1000), rps=st.floats(0.5, 20))
def test_same_seed_same_requests_in_order(seed: int, rps: float) -> None:
    ask = Ask(seed, 30.0, None)
    first, second = (shaped(rps, stress)(ask).requests for _ in range(2))
    assert first == second
    times = [request.arrival_s for request in first]
    assert times == sorted(times)
    assert all(0 <= at_s <= 30 for at_s in times)


def test_a_duration_must_be_positive() -> None:
    with pytest.raises(ValueError, match="duration"):
        shaped(1.0)(Ask(0, 0.0, None))
