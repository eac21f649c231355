from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.config import CalibrationConfig
from hmas.controllers.conformal import BUCKETS, ConformalBound, ErrorBuffer

PROXY = Path(__file__).parents[2] / "../shared/data/proxy_predictions"
PROXY_FILE = PROXY / "predictions_warmup_multi_cls_1000K.parquet"


def live_coverage(bound: ConformalBound, errors: list[int], bucket: int = 0) -> float:
    """Predict, then observe; the share that stayed within the bound."""
    hits = known = 0
    for error in errors:
        q = bound.bound(bucket)
        if q is not None:
            known += 1
            hits += error <= q
        bound.observe(bucket, error)
    return hits / known


@given(st.lists(st.integers(-500, 500), max_size=80), st.floats(0.01, 0.5))
def test_bound_is_the_corrected_order_statistic(errors: list[int], epsilon: float) -> None:
    buffer = ErrorBuffer(1000, errors)
    bound = buffer.bound(epsilon)
    n = len(errors)
    if bound is None:
        assert (n + 1) * (1 - epsilon) > n
    else:
        assert sum(error <= bound for error in errors) >= (n + 1) * (1 - epsilon) - 1e-9


@given(st.lists(st.integers(-50, 50), max_size=60), st.integers(1, 20))
def test_buffer_keeps_the_newest(errors: list[int], limit: int) -> None:
    buffer = ErrorBuffer(limit)
    for error in errors:
        buffer.add(error)
    assert buffer.errors() == errors[-limit:]
    assert buffer.bound(0.5) == ErrorBuffer(limit, errors[-limit:]).bound(0.5)


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.3])
def test_coverage_holds_on_exchangeable_errors(epsilon: float) -> None:
    noise = random.Random(3)
    errors = [int(noise.lognormvariate(4, 1)) - 50 for _ in range(20_000)]
    bound = ConformalBound(CalibrationConfig(epsilon=epsilon))
    assert live_coverage(bound, errors) == pytest.approx(1 - epsilon, abs=0.015)


def test_coverage_recovers_after_a_shift() -> None:
    noise = random.Random(4)
    bound = ConformalBound(CalibrationConfig(window=300))
    live_coverage(bound, [int(noise.gauss(0, 30)) for _ in range(1000)])
    live_coverage(bound, [int(noise.gauss(100, 30)) for _ in range(300)])
    after = live_coverage(bound, [int(noise.gauss(100, 30)) for _ in range(3000)])
    assert after == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize(("before", "after"), [((0, 30), (300, 200)), ((300, 200), (0, 30))])
def test_epsilon_follows_a_shift_before_the_buffers_do(
    before: tuple[float, float], after: tuple[float, float]
) -> None:
    noise = random.Random(6)
    bound, fixed = (ConformalBound(CalibrationConfig(adaptation=a)) for a in (0.02, 0.0))
    old = [int(noise.gauss(*before)) for _ in range(1000)]
    new = [int(noise.gauss(*after)) for _ in range(300)]
    for one in (bound, fixed):
        live_coverage(one, old)
    live_coverage(fixed, new[:60])
    live_coverage(bound, new[:60])
    adapted = live_coverage(bound, new[60:])
    assert adapted == pytest.approx(0.9, abs=0.02)
    assert abs(adapted - 0.9) < abs(live_coverage(fixed, new[60:]) - 0.9)


def test_coverage_is_reported_once_there_is_something_to_report() -> None:
    bound = ConformalBound(CalibrationConfig())
    for _ in range(25):
        bound.observe(0, 10)
    assert bound.coverage is None
    for _ in range(50):
        bound.observe(0, 10)
    assert bound.coverage == 1.0


def test_a_sparse_bucket_borrows_from_all_and_a_full_one_does_not() -> None:
    bound = ConformalBound(CalibrationConfig(min_bucket=50))
    for _ in range(100):
        bound.observe(0, 10)
    bound.observe(5, 900)
    assert bound.bound(5) == bound.bound(0) == 10
    for _ in range(60):
        bound.observe(5, 900)
    assert bound.bound(5) == 900
    assert bound.bound(0) == 10


def test_export_is_all_buckets_or_nothing() -> None:
    bound = ConformalBound(CalibrationConfig())
    assert bound.export() is None
    for _ in range(20):
        bound.observe(3, 7)
    fence = bound.export()
    assert fence == dict.fromkeys(BUCKETS, 7)
    assert bound.export(0.01) is None


def test_an_aborted_request_counts_only_as_a_certain_miss() -> None:
    bound = ConformalBound(CalibrationConfig())
    bound.observe_censored(0, 500)
    assert bound.samples == 0
    for _ in range(50):
        bound.observe(0, 10)
    bound.observe_censored(0, 5)
    assert bound.samples == 50
    bound.observe_censored(0, 500)
    assert bound.samples == 51


def test_errors_round_trip_and_warm_start() -> None:
    noise = random.Random(5)
    config = CalibrationConfig(adaptation=0)
    first = ConformalBound(config)
    for _ in range(2000):
        first.observe(noise.randrange(12), int(noise.gauss(0, 50)))
    second = ConformalBound(config, first.errors())
    assert second.errors() == first.errors()
    for bucket in BUCKETS:
        assert second.bound(bucket) == first.bound(bucket)


@pytest.mark.skipif(not PROXY_FILE.exists(), reason="no ../shared/data/proxy_predictions")
def test_coverage_on_real_prediction_errors() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(PROXY_FILE)
    means = frame.groupby("predicted_length")["output_token_length"].mean().round()
    errors = frame["output_token_length"] - frame["predicted_length"].map(means)
    bound = ConformalBound(CalibrationConfig(epsilon=0.1))
    coverage = live_coverage(bound, [int(error) for error in errors.head(20_000)])
    assert coverage == pytest.approx(0.9, abs=0.01)
