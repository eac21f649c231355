from __future__ import annotations

import numpy as np
import pytest

from hmas.controllers.prediction.length_bound import LengthBound


def run(bound: LengthBound, bucket: int, scores: np.ndarray) -> float:
    """Share of scores within the margin that was live before each."""
    hits = []
    for score in scores:
        margin = bound.margin(bucket)
        hit = None if margin is None else bool(score <= margin)
        if hit is not None:
            hits.append(hit)
        bound.observe(bucket, float(score), hit=hit)
    return float(np.mean(hits))


def test_knows_nothing_at_first() -> None:
    bound = LengthBound()
    assert bound.margin(0) is None
    assert bound.coverage() is None
    for _ in range(5):
        bound.observe(0, 0.0, hit=None)
    assert bound.margin(0) is None, "no finite bound holds with nine in ten of five"


def test_a_bucket_borrows_until_it_has_its_own() -> None:
    bound = LengthBound()
    for score in range(100):
        bound.observe(3, score / 100, hit=None)
    assert bound.margin(7) == bound.margin(3)
    assert bound.margin(3) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("bucket", [0, 4, 9])
def test_nine_in_ten(bucket: int) -> None:
    scores = np.random.default_rng(bucket).standard_t(3, 3000)
    assert run(LengthBound(), bucket, scores) == pytest.approx(0.9, abs=0.015)


@pytest.mark.parametrize("level", [1.5, -1.5])
def test_coverage_returns_within_500_requests_of_a_shift(level: float) -> None:
    rng = np.random.default_rng(1)
    bound = LengthBound()
    run(bound, 2, rng.normal(0, 0.5, 1500))
    run(bound, 2, rng.normal(level, 1.0, 500))
    assert run(bound, 2, rng.normal(level, 1.0, 1500)) == pytest.approx(0.9, abs=0.02)
    assert bound.coverage() == pytest.approx(0.9, abs=0.03)


def test_every_bucket_keeps_its_own_coverage() -> None:
    rng = np.random.default_rng(2)
    bound = LengthBound()
    hits: dict[int, list[bool]] = {0: [], 5: []}
    for number in range(6000):
        bucket = 0 if number % 2 else 5
        score = float(rng.normal(0, 0.1 if bucket else 1.5))
        margin = bound.margin(bucket)
        hit = None if margin is None else score <= margin
        if hit is not None:
            hits[bucket].append(hit)
        bound.observe(bucket, score, hit=hit)
    for bucket, found in hits.items():
        assert np.mean(found) == pytest.approx(0.9, abs=0.02)
        assert bound.coverage(bucket) == pytest.approx(0.9, abs=0.03)
