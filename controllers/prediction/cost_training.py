"""Trains the cost models on LLM-Pilot."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hmas.controllers.prediction.cost_features import FEATURES
from hmas.controllers.prediction.cost_model import (
    FORMAT,
    TARGETS,
    CostModel,
    CostRecord,
    encode_cost_model,
)
from hmas.controllers.prediction.cost_rows import LICENCE, SOURCE, CostRows, read_rows
from hmas.controllers.prediction.oblivious import TreeRecord, from_catboost

Floats = NDArray[np.float64]
Say = Callable[[str], None]

FILE: Final = "cost.model"
VERSION: Final = "1"
TEST_SHARE: Final = 0.2
THREADS: Final = 1
"""More would add up in another order, and so give other last digits."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an ensemble is grown; ``max_rows`` of the training rows are drawn."""

    trees: int
    depth: int
    learning_rate: float
    max_rows: int


SHIPPED: Final = Recipe(trees=300, depth=7, learning_rate=0.15, max_rows=200_000)


def train_cost_models(
    data: Path, seed: int, say: Say, recipe: Recipe = SHIPPED
) -> tuple[dict[str, bytes], dict[str, dict[str, float]]]:
    """Files by name, and per target what the model shows on rows that it never saw.

    ``data`` is the folder that holds ``llm_pilot``. The same seed gives the same bytes.

    Raises:
        FileNotFoundError: the data are not there.
    """
    rows = read_rows(data)
    say(f"{len(rows.features)} requests of LLM-Pilot")
    record, report = fit_record(rows, seed, say, recipe)
    return {FILE: encode_cost_model(record)}, report


def fit_record(
    rows: CostRows, seed: int, say: Say, recipe: Recipe
) -> tuple[CostRecord, dict[str, dict[str, float]]]:
    """Each target's logarithm, on a random four fifths of the rows."""
    is_test = np.random.default_rng(seed).random(len(rows.features)) < TEST_SHARE
    trees: dict[str, TreeRecord] = {}
    report: dict[str, dict[str, float]] = {}
    for target in TARGETS:
        values = rows.targets[target]
        known = np.isfinite(values)
        train = np.flatnonzero(known & ~is_test)
        model = grow(rows.features, values, train, seed, recipe, in_log=True)
        trees[target] = _tree_record(model)
        test = np.flatnonzero(known & is_test)
        said = np.exp(model.predict(rows.features[test]))
        report[target] = _metrics(values[test], said)
        say(f"{target}: R2 {report[target]['r2']:.4f} on {len(test)} rows held out")
    record = CostRecord(
        format=FORMAT,
        version=VERSION,
        licence=LICENCE,
        source=SOURCE,
        data_hash=rows.data_hash,
        seed=seed,
        features=list(FEATURES),
        metrics=report,
        trees=trees,
    )
    CostModel(record)
    return record, report


def grow(
    features: NDArray[np.float32],
    values: Floats,
    train: NDArray[np.int64],
    seed: int,
    recipe: Recipe,
    *,
    in_log: bool,
) -> Any:
    """A CatBoost regressor of ``values`` (or their logarithms), grown on the rows ``train``."""
    from catboost import CatBoostRegressor

    if len(train) > recipe.max_rows:
        drawn = np.random.default_rng(seed).choice(train, recipe.max_rows, replace=False)
        train = np.sort(drawn)
    wanted = values[train]
    model = CatBoostRegressor(
        iterations=recipe.trees,
        depth=recipe.depth,
        learning_rate=recipe.learning_rate,
        border_count=128,
        random_seed=seed,
        thread_count=THREADS,
        allow_writing_files=False,
        verbose=False,
    )
    model.fit(features[train], np.log(wanted) if in_log else wanted)
    return model


def r2(measured: Floats, predicted: Floats) -> float:
    """Coefficient of determination on the values as they are."""
    spread = float(np.sum((measured - np.mean(measured)) ** 2))
    return 1 - float(np.sum((measured - predicted) ** 2)) / spread


def _metrics(measured: Floats, predicted: Floats) -> dict[str, float]:
    log_error = np.abs(np.log(predicted / measured))
    return {
        "r2": round(r2(measured, predicted), 4),
        "r2_of_log": round(r2(np.log(measured), np.log(predicted)), 4),
        "median_relative_error": round(float(np.exp(np.median(log_error)) - 1), 4),
        "rows": len(measured),
    }


def _tree_record(model: Any) -> TreeRecord:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        grown: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return from_catboost(grown)
