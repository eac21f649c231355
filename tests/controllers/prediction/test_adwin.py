from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.prediction.adwin import CLOCK, Adwin, Change


def levels(seed: int, *parts: tuple[int, float]) -> list[float]:
    """Noise around each level in turn, within [0, 1]."""
    rng = random.Random(seed)
    return [
        min(1.0, max(0.0, rng.gauss(level, 0.15))) for count, level in parts for _ in range(count)
    ]


def first_change(values: list[float]) -> tuple[int, Change] | None:
    adwin = Adwin()
    for place, value in enumerate(values):
        change = adwin.update(value)
        if change is not Change.NONE:
            return place, change
    return None


@pytest.mark.parametrize("seed", range(40))
def test_it_sees_the_same_change_as_rivers(seed: int) -> None:
    from river.drift import ADWIN

    rng = random.Random(seed)
    before, after = rng.randrange(100, 1000), rng.uniform(0.0, 0.9)
    values = levels(seed, (before, 0.3), (800, after))
    rivers = ADWIN()
    theirs = None
    for place, value in enumerate(values):
        rivers.update(value)
        if rivers.drift_detected:
            theirs = place
            break
    ours = first_change(values)
    assert (None if ours is None else ours[0]) == theirs


@pytest.mark.parametrize(("after", "change"), [(0.5, Change.UP), (0.1, Change.DOWN)])
def test_it_says_where_the_mean_went_and_forgets_what_was(after: float, change: Change) -> None:
    adwin = Adwin()
    changes = [adwin.update(value) for value in levels(1, (500, 0.3), (500, after))]
    assert set(changes) == {Change.NONE, change}
    assert adwin.mean == pytest.approx(after, abs=0.05)
    assert adwin.width < 600


def test_a_steady_stream_is_hardly_ever_cut() -> None:
    alarms = sum(first_change(levels(seed, (3000, 0.3))) is not None for seed in range(20))
    assert alarms == 0


def test_nothing_is_asked_of_a_few_values() -> None:
    adwin = Adwin()
    assert (adwin.width, adwin.mean) == (0, 0.0)
    assert first_change([0.0, 1.0] * (CLOCK // 2 - 1)) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=300))
def test_the_window_holds_what_it_says(values: list[float]) -> None:
    adwin = Adwin()
    for value in values:
        adwin.update(value)
    newest = values[len(values) - adwin.width :]
    assert adwin.width <= len(values)
    assert adwin.mean == pytest.approx(sum(newest) / len(newest) if newest else 0.0, abs=1e-9)
