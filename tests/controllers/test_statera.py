"""Statera alone, and in closed loop with a toy engine whose step time is linear in its load."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.config import CalibrationConfig, StateraConfig
from hmas.controllers.conformal import ConformalBound
from hmas.controllers.statera import Actuator, Statera
from hmas.controllers.tpot_guard import TpotGuard
from hmas.controllers.views import VShort
from hmas.engine.directive import Controls, StepModel
from tests.controllers.support import LIMITS, short

MODEL = StepModel(base_ms=10.0, prefill_ms=0.03, context_ms=0.0, sequence_ms=0.2)
CYCLE_S = 0.25


def make_statera(**config: Any) -> Statera:
    settings = StateraConfig(**{"cold_share": 1.0, **config})
    return Statera(settings, LIMITS, 0.1, TpotGuard(settings))


def update(statera: Statera, view: VShort, model: StepModel | None = None) -> Controls:
    return statera.update(view, ConformalBound(CalibrationConfig()), model)


@dataclass
class Plant:
    """Runs what it may: as many sequences as N_run allows, prefill fills the budget."""

    demand_sequences: int = 200
    prefill_backlog: bool = True
    target_ms: float = 60.0
    ttft_misses: float = 0.0
    best_utilisation: float | None = None
    history: list[float] = field(default_factory=list)
    _lag: list[float] = field(default_factory=list)

    def view(self, at_s: float, controls: Controls) -> VShort:
        running = min(self.demand_sequences, controls.n_run or LIMITS.max_num_seqs)
        budget = controls.token_budget or LIMITS.max_num_batched_tokens
        prefill = max(0, budget - running) if self.prefill_backlog else 0
        step_ms = MODEL.step_ms(prefill, 0, running)
        self._lag = [*self._lag[-7:], step_ms]  # the state window averages over 2 s
        mean_ms = sum(self._lag) / len(self._lag)
        self.history.append(step_ms)
        return short(
            at_s,
            running=running,
            waiting=self.demand_sequences - running,
            step_interval_ms=mean_ms,
            step_tokens_p95=float(running + prefill),
            tpot_utilisation=mean_ms / self.target_ms,
            tpot_at_risk=1.0 if mean_ms > self.target_ms else 0.0,
            ttft_violation_rate=self.ttft_misses,
            goodput_per_s=self._goodput(mean_ms / self.target_ms),
            samples=100,
        )

    def _goodput(self, utilisation: float) -> float | None:
        """Falls to both sides of ``best_utilisation``: to the left prefill waits, to the right
        steps miss the target that vary more than their mean shows."""
        if self.best_utilisation is None:
            return None
        return 10.0 * max(0.0, 1.0 - 8.0 * (utilisation - self.best_utilisation) ** 2)


def run(statera: Statera, plant: Plant, seconds: float, start_s: float = 0.0) -> list[Controls]:
    controls, issued = Controls(), []
    for cycle in range(round(seconds / CYCLE_S)):
        controls = update(statera, plant.view(start_s + cycle * CYCLE_S, controls))
        issued.append(controls)
    return issued


def test_wide_open_while_nothing_is_violated() -> None:
    statera = make_statera()
    plant = Plant(demand_sequences=20, prefill_backlog=False)
    for controls in run(statera, plant, 60):
        assert controls.n_run == LIMITS.max_num_seqs
        assert controls.token_budget == LIMITS.max_num_batched_tokens
    assert statera.wide_open


def test_an_overlong_step_is_brought_into_the_band_without_oscillation() -> None:
    statera, plant = make_statera(), Plant(demand_sequences=50)
    issued = run(statera, plant, 120)
    tail = plant.history[-160:]
    assert max(tail) <= plant.target_ms * 1.05
    assert max(tail) / min(tail) < 1.1
    changes = sum(a != b for a, b in zip(issued[-160:], issued[-159:], strict=False))
    assert changes <= 4
    assert issued[-1].n_run == LIMITS.max_num_seqs


@pytest.mark.parametrize("best", [0.82, 1.0])
def test_the_band_is_sought_where_goodput_is_best(best: float) -> None:
    """The trace: closing within the first minute, then towards the best point, then still."""
    statera, plant = make_statera(), Plant(demand_sequences=50, best_utilisation=best)
    issued = run(statera, plant, 3600)
    tail = [step_ms / plant.target_ms for step_ms in plant.history[-2400:]]
    assert abs(sum(tail) / len(tail) - best) < 0.05
    assert max(tail) - min(tail) < 0.25
    fixed = Plant(demand_sequences=50, best_utilisation=best)
    run(make_statera(band_probe=0), fixed, 3600)
    settled = fixed.history[-1] / fixed.target_ms
    assert abs(sum(tail) / len(tail) - best) < abs(settled - best) + 0.02
    changes = sum(a != b for a, b in zip(issued[-2400:], issued[-2399:], strict=False))
    assert changes < 120, "directives stay rare: fewer than twelve a minute"


def test_n_run_gives_way_when_the_budget_cannot_help() -> None:
    statera, plant = (
        make_statera(),
        Plant(demand_sequences=256, prefill_backlog=False, target_ms=40),
    )
    issued = run(statera, plant, 300)
    assert issued[-1].n_run is not None
    assert issued[-1].n_run < 200
    assert plant.history[-1] <= plant.target_ms * 1.1
    tail = [controls.n_run or 0 for controls in issued[-200:]]
    assert max(tail) - min(tail) <= 0.15 * max(tail)


def test_restraint_is_undone_within_seconds_when_the_load_goes() -> None:
    statera = make_statera()
    run(statera, Plant(demand_sequences=50, target_ms=30), 60)
    assert not statera.wide_open
    run(statera, Plant(demand_sequences=0, prefill_backlog=False), 20, start_s=60.0)
    assert statera.wide_open


def test_ttft_misses_that_outweigh_tpot_misses_keep_the_controls_open() -> None:
    statera = make_statera()
    plant = Plant(demand_sequences=250, ttft_misses=1.0)
    assert run(statera, plant, 60)[-1].token_budget == LIMITS.max_num_batched_tokens


def test_steps_are_short_until_their_time_is_known() -> None:
    statera = make_statera(cold_share=0.25)
    assert update(statera, short()).token_budget == LIMITS.max_num_batched_tokens // 4
    known = update(statera, short(), MODEL)
    assert known.token_budget == LIMITS.max_num_batched_tokens
    assert update(make_statera(cold_share=0.01), short()).token_budget == 256


def test_missing_signals_hold_the_last_value() -> None:
    statera = make_statera()
    before = run(statera, Plant(demand_sequences=50), 60)[-1]
    for k in range(100):
        held = update(statera, short(60 + k * CYCLE_S, running=None, waiting=None, kv_used=None))
        assert (held.n_run, held.token_budget) == (before.n_run, before.token_budget)


def test_small_errors_move_nothing() -> None:
    statera = make_statera(u_high=0.9, dead_band=0.05)
    for k in range(400):
        view = short(k * CYCLE_S, tpot_utilisation=0.94, tpot_at_risk=1.0, step_tokens_p95=500.0)
        controls = update(statera, view)
    assert controls.token_budget == LIMITS.max_num_batched_tokens


def test_feed_forward_travels_along() -> None:
    controls = update(make_statera(tpot_guard=0.8, kv_margin=0.1), short(), MODEL)
    assert controls.step_model == MODEL
    assert controls.tpot_guard == 0.8
    assert controls.kv_margin == 0.1
    assert controls.fence is None


def test_fence_needs_errors_and_can_be_switched_off() -> None:
    calibration = ConformalBound(CalibrationConfig())
    for _ in range(60):
        calibration.observe(0, 30)
    fence = make_statera().update(short(), calibration, None).fence
    assert fence is not None
    assert set(fence.values()) == {30}
    assert make_statera(fence=False).update(short(), calibration, None).fence is None


def test_frozen_means_unbounded() -> None:
    assert update(make_statera(enabled=False), short(), MODEL) == Controls()


def test_thrashing_without_a_fence_takes_slots_away() -> None:
    statera = make_statera(fence=False)
    for k in range(400):
        view = short(
            k * CYCLE_S,
            running=100,
            kv_used=1.0,
            waiting=50,
            preemptions_per_s=60.0,
            completions_per_s=5.0,
            tpot_utilisation=0.5,
            tpot_at_risk=0.0,
        )
        controls = update(statera, view, MODEL)
    assert controls.n_run is not None
    assert controls.n_run < 100


@given(st.integers(1, 500), st.integers(1, 10_000), st.lists(st.floats(-3, 3), max_size=60))
def test_an_actuator_never_leaves_its_bounds(low: int, high: int, moves: list[float]) -> None:
    actuator = Actuator(low, high, 32)
    for move in moves:
        actuator.scale(move)
        assert actuator.low <= actuator.level_value() <= actuator.high == high
    actuator.scale(100.0)
    assert actuator.at_high
    assert actuator.level_value() == high


def test_an_actuator_does_not_flicker_between_levels() -> None:
    actuator = Actuator(256, 8192, 32)
    actuator.scale(-1.0)
    seen = set()
    for k in range(200):
        actuator.scale(0.02 if k % 2 else -0.02)
        seen.add(actuator.level_value())
    assert len(seen) == 1


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(0, 300)),
            st.one_of(st.none(), st.floats(0, 10)),
            st.one_of(st.none(), st.floats(0, 1)),
            st.one_of(st.none(), st.floats(0, 1)),
            st.floats(-5, 5),
        ),
        max_size=80,
    )
)
def test_whatever_is_measured_the_controls_stay_within_the_engine_limits(
    signals: list[tuple[int | None, float | None, float | None, float | None, float]],
) -> None:
    statera, now_s = make_statera(), 0.0
    for running, load, ttft, risk, seconds in signals:
        now_s += seconds
        view = short(
            now_s,
            running=running,
            tpot_utilisation=load,
            ttft_violation_rate=ttft,
            tpot_at_risk=risk,
            step_tokens_p95=None if load is None else load * 1000,
        )
        controls = update(statera, view)
        assert 4 <= (controls.n_run or 0) <= LIMITS.max_num_seqs
        assert 256 <= (controls.token_budget or 0) <= LIMITS.max_num_batched_tokens


def test_bounds_of_a_tiny_engine() -> None:
    actuator = Actuator(256, 64, 32)
    actuator.scale(-10)
    assert actuator.level_value() == 64
    assert actuator.level_value() == pytest.approx(actuator.value)
