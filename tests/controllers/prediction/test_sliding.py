from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.prediction.sliding import SlidingSample


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60),
    st.integers(1, 20),
    st.floats(0, 1),
)
def test_quantile_of_the_last_values(values: list[float], size: int, share: float) -> None:
    sample = SlidingSample(size)
    for value in values:
        sample.add(value)
    last = sorted(values[-size:])
    assert len(sample) == len(last)
    answer = sample.quantile(share)
    assert answer in last
    assert sum(value <= answer for value in last) >= math.floor(share * len(last))


def test_empty_says_so() -> None:
    assert SlidingSample().quantile(0.5) is None


def test_needs_room() -> None:
    with pytest.raises(ValueError, match="room for one value"):
        SlidingSample(0)
