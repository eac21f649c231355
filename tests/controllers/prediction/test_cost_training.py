"""Training recovers a known law, and gives the same bytes with the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hmas.controllers.prediction.cost_model import decode_cost_model
from hmas.controllers.prediction.cost_rows import read_rows
from hmas.controllers.prediction.cost_training import (
    FILE,
    Recipe,
    grow,
    r2,
    train_cost_models,
)
from tests.controllers.prediction.pilot_support import write_pilot

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"
QUICK = Recipe(trees=120, depth=4, learning_rate=0.2, max_rows=5000)


def silent(_: str) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("data")
    write_pilot(made, per_case=200)
    return made


def test_a_known_law_is_recovered(data: Path) -> None:
    _, report = train_cost_models(data, 0, silent, QUICK)
    assert report["ttft_ms"]["r2"] > 0.97
    assert report["tpot_ms"]["median_relative_error"] < 0.02
    assert report["latency_per_token_ms"]["r2_of_log"] > 0.95


def test_the_same_seed_gives_the_same_bytes(data: Path) -> None:
    first, second, other = (train_cost_models(data, seed, silent, QUICK)[0] for seed in (3, 3, 4))
    assert first == second
    assert first != other


def test_the_file_answers_as_what_was_trained(data: Path) -> None:
    rows = read_rows(data)
    known = np.arange(len(rows.features))
    values = rows.targets["ttft_ms"]
    trained = grow(rows.features, values, known, 0, QUICK, in_log=True)
    files, report = train_cost_models(data, 0, silent, QUICK)
    model = decode_cost_model(files[FILE])
    assert model.record.metrics == report
    assert model.record.data_hash == rows.data_hash
    said = np.log([model.predict(row)[0] for row in rows.features[:50].tolist()])
    # Grown on other rows (one fifth was held out), so near, not equal.
    assert np.abs(said - trained.predict(rows.features[:50])).mean() < 0.1


def test_r2_is_one_for_the_truth_and_zero_for_the_mean() -> None:
    truth = np.array([1.0, 2.0, 6.0])
    assert r2(truth, truth) == 1
    assert r2(truth, np.full(3, 3.0)) == 0


@pytest.mark.skipif(not (DATA / "llm_pilot").is_dir(), reason=f"{DATA}/llm_pilot is absent")
def test_a_small_model_already_knows_the_real_measurements() -> None:
    recipe = Recipe(trees=60, depth=6, learning_rate=0.3, max_rows=10_000)
    _, report = train_cost_models(DATA, 0, silent, recipe)
    assert report["ttft_ms"]["r2"] > 0.75
    assert report["ttft_ms"]["r2_of_log"] > 0.85
    assert report["latency_per_token_ms"]["r2"] > 0.75
    assert report["tpot_ms"]["r2_of_log"] > 0.85
