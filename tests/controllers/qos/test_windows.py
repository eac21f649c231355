from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.qos.windows import Moments, QuantileSketch, SortedWindow, SumWindow

VALUES = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=200)


@given(VALUES, st.floats(0.5, 20))
def test_sum_window_is_the_sum_of_what_is_young_enough(values: list[float], span_s: float) -> None:
    window = SumWindow(span_s, 2)
    for at_s, value in enumerate(values):
        window.add(float(at_s), 1, value)
    now_s = float(len(values))
    young = [value for at_s, value in enumerate(values) if now_s - at_s <= span_s]
    count, total = window.evict(now_s)
    assert count == pytest.approx(len(young), abs=1e-6)
    assert total == pytest.approx(sum(young), rel=1e-6, abs=1e-3)
    assert len(window) == len(young)


def test_sum_window_survives_a_clock_that_jumps_back() -> None:
    window = SumWindow(10.0, 1)
    window.add(1000.0, 1)
    assert window.evict(0.0) == [0.0]
    window.add(0.5, 2)
    assert window.evict(1.0) == [2.0]


@given(VALUES, st.integers(1, 50))
def test_sorted_window_quantiles_are_those_of_the_newest_values(
    values: list[float], limit: int
) -> None:
    window = SortedWindow(math.inf, limit)
    for at_s, value in enumerate(values):
        window.add(float(at_s), value)
    newest = values[-limit:]
    assert window.values() == newest
    assert window.quantile(0) == min(newest)
    assert window.quantile(1) == max(newest)
    median = window.quantile(0.5)
    assert median == sorted(newest)[len(newest) // 2]
    assert window.share_below(min(newest)) == 0


def test_sorted_window_forgets_by_age() -> None:
    window = SortedWindow(5.0)
    window.add(0.0, 1.0)
    window.add(4.0, 2.0)
    window.evict(6.0)
    assert window.values() == [2.0]
    window.evict(60.0)
    assert window.quantile(0.5) is None
    assert window.share_below(1.0) is None


@given(VALUES)
def test_sketched_quantiles_are_within_one_percent(values: list[float]) -> None:
    sketch = QuantileSketch()
    for value in values:
        sketch.add(value)
    for share in (0.0, 0.5, 0.95, 0.999):
        exact = sorted(values)[int(share * (len(values) - 1))]
        assert sketch.quantile(share) == pytest.approx(exact, rel=0.011)


def test_empty_sketches_measure_nothing() -> None:
    assert QuantileSketch().quantile(0.5) is None
    assert Moments().mean is Moments().variance is Moments().variation is None


@given(VALUES)
def test_moments_match_the_textbook(values: list[float]) -> None:
    moments = Moments()
    for value in values:
        moments.add(value)
    assert moments.mean == pytest.approx(statistics.fmean(values))
    assert moments.variance == pytest.approx(statistics.pvariance(values), rel=1e-6, abs=1e-6)
