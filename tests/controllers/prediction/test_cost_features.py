"""Rows of features: the same for training and for serving."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs

from hmas.controllers.prediction.cost_features import (
    ENGINE_FEATURES,
    FEATURES,
    EngineRows,
    Load,
    engine_features,
    load_features,
    rows,
)
from tests.controllers.prediction.cost_support import A100

LOAD = Load(
    prompt_tokens=200,
    output_tokens=10,
    in_flight=7,
    prefilling=2,
    in_flight_tokens=900,
    prefilling_tokens=300,
)


def named(load: Load = LOAD) -> dict[str, float]:
    return dict(zip(FEATURES, EngineRows(A100).row(load), strict=True))


def test_weights_are_read_once_per_step() -> None:
    assert named()["weights_read_ms"] == pytest.approx(14e9 / 1555e9 * 1e3, rel=1e-5)


def test_a_token_computes_twice_the_weights() -> None:
    per_token_ms = 2 * 7e9 / 312e12 * 1e3
    assert named()["prefill_compute_ms"] == pytest.approx(200 * per_token_ms, rel=1e-5)
    assert named()["backlog_compute_ms"] == pytest.approx(300 * per_token_ms, rel=1e-5)


def test_hidden_size_and_cache_of_a_seven_billion_model_are_about_right() -> None:
    assert named()["hidden_size"] == pytest.approx(4096, rel=0.06)
    # 22 GB free, half a megabyte per token.
    assert named()["kv_capacity_tokens"] == pytest.approx(42_000, rel=0.06)


def test_concurrency_counts_the_request_itself() -> None:
    assert named()["concurrency"] == 8


def test_more_gpus_share_the_work_and_have_to_talk() -> None:
    two = dict(zip(ENGINE_FEATURES, engine_features(structs.replace(A100, gpus=2)), strict=True))
    one = dict(zip(ENGINE_FEATURES, engine_features(A100), strict=True))
    assert two["weights_read_ms"] == one["weights_read_ms"] / 2
    assert (one["all_reduces_per_step"], two["all_reduces_per_step"]) == (0, 128)


def test_many_rows_are_the_single_rows() -> None:
    loads = [LOAD, Load(prompt_tokens=1, output_tokens=1)]
    many = rows(
        np.array([engine_features(A100)] * 2), np.array([load_features(load) for load in loads])
    )
    assert many.dtype == np.float32
    one = EngineRows(A100)
    singly = np.array([one.row(load) for load in loads], dtype=np.float32)
    assert many.tolist() == singly.tolist()
