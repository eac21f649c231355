"""Splits that do not leak, and cases that add up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmas.bench.corpus_costs import (
    CASE_DEFINITIONS,
    DEFINITIONS,
    by_case,
    by_request,
    by_request_watched,
    random_folds,
    random_split,
    recent,
    unseen_pairs,
)
from hmas.controllers.prediction.cost_rows import CostRows, read_rows
from tests.controllers.prediction.pilot_support import write_pilot


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> CostRows:
    data = tmp_path_factory.mktemp("data")
    write_pilot(data)
    return read_rows(data)


def test_no_pair_is_on_both_sides() -> None:
    pairs = np.random.default_rng(0).integers(0, 30, 2000)
    tested = []
    for train, test in unseen_pairs(pairs, seed=1):
        assert not set(pairs[train]) & set(pairs[test])
        tested.extend(test.tolist())
    assert sorted(tested) == list(range(2000))


def test_a_fifth_is_held_out_at_random() -> None:
    ((train, test),) = random_split(10_000, seed=1)
    assert len(test) == pytest.approx(2000, rel=0.1)
    assert sorted([*train, *test]) == list(range(10_000))


def test_folds_test_every_row_once() -> None:
    tested = [place for _, test in random_folds(103, seed=1) for place in test]
    assert sorted(tested) == list(range(103))


def test_every_definition_has_a_target(rows: CostRows) -> None:
    assert set(by_request(rows).targets) == set(DEFINITIONS)
    assert set(by_case(rows).targets) == set(CASE_DEFINITIONS)


def test_one_token_has_no_decode_time(rows: CostRows) -> None:
    one = rows.raw["n_output_tokens"] == 1
    assert np.isnan(by_request(rows).targets["decode time, whole"]).tolist() == one.tolist()


def test_cases_add_up_their_requests(rows: CostRows) -> None:
    cases = by_case(rows)
    first = rows.cases == 0
    assert len(cases.pairs) == 8
    tokens = rows.raw["n_output_tokens"][first].sum()
    assert cases.targets["throughput"][0] == pytest.approx(tokens / 120)
    assert cases.targets["prefill"][0] == pytest.approx(rows.raw["ttft_ms"][first].mean())
    latencies = rows.raw["latency_ms"][first].sum()
    assert cases.targets["latency per token"][0] == pytest.approx(latencies / tokens)


def test_the_law_of_the_decode_time_is_exact_per_case(rows: CostRows, tmp_path: Path) -> None:
    assert set(np.round(by_case(rows).targets["decode time"], 6)) == {10.0, 20.0, 40.0}


def test_only_what_came_before_is_watched() -> None:
    # Each starts as the one before ends; 2 ms in flight, then TTFT, then gaps of 10 and 30 ms.
    case = {
        "start_timestamp": np.array([0.0, 100.0, 200.0]),
        "delay0_ms": np.full(3, 2.0),
        "ttft_ms": np.array([50.0, 70.0, 1.0]),
        "latency_ms": np.array([100.0, 100.0, 50.0]),
        "decode_sum_ms": np.array([40.0, 30.0, 7.0]),
        "n_output_tokens": np.array([5.0, 2.0, 1.0]),
    }
    assert recent(case).tolist() == [[-1, -1], [50, 10], [60, 14]]


def test_watching_adds_two_features(rows: CostRows) -> None:
    watched, plain = by_request_watched(rows), by_request(rows)
    assert watched.features[:, :-2].tolist() == plain.features.tolist()
    assert (watched.features[:, -2:] >= -1).all()
