from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.prediction.accuracy import LiveAccuracy
from hmas.controllers.prediction.base import Prediction
from tests.controllers.prediction.length_support import ask, finished

DONE = finished(ask(), 100)
"""100 tokens, TTFT 200 ms, TPOT 20 ms."""


def test_nothing_is_said_before_anything_finished() -> None:
    accuracy = LiveAccuracy()
    accuracy.length(Prediction(5), msgspec.structs.replace(DONE, output_tokens=0))
    accuracy.latency(Prediction(5), DONE)
    assert (accuracy.lengths(), accuracy.ttft(), accuracy.tpot()) == (None, None, None)


def test_lengths() -> None:
    accuracy = LiveAccuracy()
    for predicted, upper in ((110, 120), (80, 99), (150, None)):
        accuracy.length(Prediction(predicted, upper_tokens=upper), DONE)
    found = accuracy.lengths()
    assert found is not None
    assert found.requests == 3
    assert found.mae_tokens == pytest.approx((10 + 20 + 50) / 3)
    assert found.bias_tokens == pytest.approx((10 - 20 + 50) / 3)
    assert found.median_error == pytest.approx(0.2)
    assert found.coverage == 0.5, "two had a bound, one stayed within it"


def test_latencies() -> None:
    accuracy = LiveAccuracy()
    accuracy.latency(Prediction(1, ttft_ms=100.0, tpot_ms=20.0), DONE)
    accuracy.latency(Prediction(1, ttft_ms=300.0), DONE)
    ttft, tpot = accuracy.ttft(), accuracy.tpot()
    assert ttft is not None
    assert tpot is not None
    assert (ttft.requests, tpot.requests) == (2, 1)
    assert ttft.ratio == pytest.approx(400 / 400)
    assert ttft.median_error == pytest.approx(0.5)
    assert (tpot.ratio, tpot.median_error) == (pytest.approx(1), pytest.approx(0))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=1, max_size=50))
def test_only_the_newest_count(pairs: list[tuple[int, int]]) -> None:
    accuracy = LiveAccuracy(window=10)
    for predicted, actual in pairs:
        done = msgspec.structs.replace(DONE, output_tokens=actual)
        accuracy.length(Prediction(predicted, upper_tokens=predicted), done)
    found = accuracy.lengths()
    assert found is not None
    newest = pairs[-10:]
    assert found.requests == len(newest)
    assert found.mae_tokens == pytest.approx(sum(abs(p - a) for p, a in newest) / len(newest))
    assert found.coverage == pytest.approx(sum(a <= p for p, a in newest) / len(newest))
