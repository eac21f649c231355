"""The band's edge against a plant whose goodput has its peak at a known utilisation."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.band import BandSeeker
from hmas.controllers.config import StateraConfig
from tests.controllers.support import short

CYCLE_S = 0.25
PEAK = 0.84


def goodput(edge: float) -> float:
    """Requests in SLO per second when u_t sits at ``edge``."""
    return max(0.0, 20.0 * (1.0 - 8.0 * (edge - PEAK) ** 2))


def make(**config: Any) -> BandSeeker:
    return BandSeeker(StateraConfig(**config))


def run(
    band: BandSeeker,
    seconds: float,
    measured: Callable[[float, float], float],
    *,
    start_s: float = 0.0,
    binding: bool = True,
) -> list[float]:
    """The edge over time; ``measured`` takes the band's upper edge and the time."""
    edges = []
    for cycle in range(round(seconds / CYCLE_S)):
        now_s = start_s + cycle * CYCLE_S
        view = short(now_s, goodput_per_s=measured(band.high, now_s))
        band.observe(view, binding=binding)
        edges.append(band.edge)
    return edges


@pytest.mark.parametrize("start", [0.76, 0.95, 1.08])
def test_it_finds_the_peak_and_stays_there(start: float) -> None:
    band = make(u_high=start)
    edges = run(band, 2400, lambda edge, _: goodput(edge))
    tail = edges[-2400:]
    assert all(abs(edge - PEAK) < 0.04 for edge in tail)
    assert max(tail) - min(tail) < 0.02
    assert band.tg_best == pytest.approx(20.0, rel=0.05)


def test_noise_leaves_it_near_the_peak() -> None:
    luck = random.Random(3)
    edges = run(make(), 7200, lambda edge, _: goodput(edge) * luck.gauss(1.0, 0.1))
    assert all(abs(edge - PEAK) < 0.08 for edge in edges[-7200:])


def test_a_load_that_rises_steadily_is_not_taken_for_the_effect_of_a_probe() -> None:
    edges = run(make(u_high=PEAK), 2400, lambda edge, now_s: goodput(edge) * (1 + now_s / 2400))
    assert all(abs(edge - PEAK) < 0.04 for edge in edges)


def test_a_band_that_binds_nothing_is_left_alone() -> None:
    band = make()
    edges = run(band, 600, lambda edge, _: goodput(edge), binding=False)
    assert set(edges) == {StateraConfig().u_high}
    assert (band.low, band.high) == (StateraConfig().u_low, StateraConfig().u_high)


def test_a_round_that_was_interrupted_counts_for_nothing() -> None:
    band = make()
    for number in range(20):
        start_s = 100.0 * number
        run(band, 70, lambda edge, _: goodput(edge), start_s=start_s)
        run(band, 30, lambda edge, _: goodput(edge), start_s=start_s + 70, binding=False)
    assert band.edge == StateraConfig().u_high


def test_a_probe_of_zero_fixes_the_band() -> None:
    band = make(band_probe=0)
    assert set(run(band, 600, lambda edge, _: goodput(edge))) == {StateraConfig().u_high}


def test_it_goes_no_further_than_its_bounds() -> None:
    config = StateraConfig()
    assert run(make(), 3600, lambda edge, _: edge)[-1] == config.band_high
    assert run(make(), 3600, lambda edge, _: 2 - edge)[-1] == config.band_low


def test_without_measurements_nothing_moves() -> None:
    band = make()
    for cycle in range(1000):
        band.observe(short(cycle * CYCLE_S, goodput_per_s=None), binding=True)
    assert band.edge == StateraConfig().u_high


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0, 1e6), st.booleans()), max_size=200))
def test_whatever_is_measured_the_band_stays_in_its_bounds(
    signals: list[tuple[float, float, bool]],
) -> None:
    band, config, now_s = make(), StateraConfig(), 0.0
    for seconds, measured, binding in signals:
        now_s += seconds
        band.observe(short(now_s, goodput_per_s=measured), binding=binding)
        assert config.band_low <= band.edge <= config.band_high
        assert 0 < band.low < band.high
