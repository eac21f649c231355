from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.bench.lengths import (
    LengthKnowledge,
    describe,
    fitted_error,
    known_lengths,
    mean_relative_error,
)
from hmas.bench.traces import TraceRequest


def requests_of(outputs: list[int]) -> list[TraceRequest]:
    return [TraceRequest(float(index), 100, tokens, "t") for index, tokens in enumerate(outputs)]


def test_the_oracle_knows_the_truth() -> None:
    requests = requests_of([1, 7, 300])
    known = known_lengths(requests, LengthKnowledge.TRUE, seed=1)
    assert known == [1, 7, 300]
    assert mean_relative_error(requests, known) == 0
    assert "oracle" in describe(LengthKnowledge.TRUE)


def test_predictions_have_the_stated_error() -> None:
    outputs = np.exp(np.random.default_rng(0).normal(5, 1, 20_000)).astype(int) + 1
    requests = requests_of(outputs.tolist())
    predicted = np.log(known_lengths(requests, LengthKnowledge.PREDICTED, seed=1))
    true = np.log(outputs)
    slope, _ = np.polyfit(true, predicted, 1)
    residual = predicted - predicted.mean() - slope * (true - true.mean())
    assert slope == pytest.approx(fitted_error().shrinkage, abs=0.02)
    assert residual.std() == pytest.approx(fitted_error().sigma, abs=0.02)
    assert predicted.mean() == pytest.approx(true.mean(), abs=0.02)
    assert str(fitted_error().sigma) in describe(LengthKnowledge.PREDICTED)


def test_each_trace_has_its_own_centre() -> None:
    short = [TraceRequest(0.0, 100, 5, "code") for _ in range(200)]
    long = [TraceRequest(0.0, 100, 500, "conv") for _ in range(200)]
    predicted = known_lengths(short + long, LengthKnowledge.PREDICTED, seed=1)
    assert np.median(predicted[:200]) == pytest.approx(5, abs=2)
    assert np.median(predicted[200:]) == pytest.approx(500, rel=0.2)


@given(st.lists(st.integers(0, 10_000), max_size=50), st.integers(0, 2**32))
def test_seeded_and_at_least_one_token(outputs: list[int], seed: int) -> None:
    requests = requests_of(outputs)
    first = known_lengths(requests, LengthKnowledge.PREDICTED, seed)
    assert first == known_lengths(requests, LengthKnowledge.PREDICTED, seed)
    assert all(tokens >= 1 for tokens in first)
