from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hmas.controllers.prediction.oblivious import (
    MalformedTreesError,
    ObliviousTrees,
    TreeRecord,
    from_catboost,
)


def stump() -> TreeRecord:
    """1 where the second number is above 2.5, else 0; plus 10."""
    split = {"float_feature_index": 1, "border": 2.5}
    tree = {"splits": [split], "leaf_values": [0.0, 1.0]}
    return from_catboost({"scale_and_bias": [1.0, [10.0]], "oblivious_trees": [tree]})


def test_one_split() -> None:
    trees = ObliviousTrees(stump(), numbers=2)
    assert trees([0.0, 2.0]) == [10.0]
    assert trees([0.0, 3.0]) == [11.0]


def test_the_arrays_say_what_catboost_says(tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5)).astype(np.float32)
    y = x[:, 0] * 2 + np.abs(x[:, 1])
    model = catboost.CatBoostRegressor(
        loss_function="MultiQuantile:alpha=0.5,0.9",
        iterations=30,
        depth=4,
        thread_count=1,
        verbose=0,
        allow_writing_files=False,
    ).fit(x, y)
    model.save_model(str(tmp_path / "trees.json"), format="json")
    record = from_catboost(json.loads((tmp_path / "trees.json").read_text()))
    trees = ObliviousTrees(record, numbers=5)
    assert np.array([trees(row.tolist()) for row in x]) == pytest.approx(model.predict(x), abs=1e-4)


@pytest.mark.parametrize(
    "change",
    [
        {"trees": 2},
        {"depth": 0},
        {"leaves": b""},
        {"bias": []},
        {"features": b"\x09"},
        {"leaves": np.array([np.nan, 0], "<f4").tobytes()},
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(MalformedTreesError):
        ObliviousTrees(msgspec.structs.replace(stump(), **change), numbers=2)
