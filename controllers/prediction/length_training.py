"""Trains the length model from requests whose true lengths are known."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.length_features import (
    BUCKETS,
    NUMBERS,
    LengthFeatures,
    read_features,
)
from hmas.controllers.prediction.length_model import (
    FORMAT,
    LengthModel,
    LengthRecord,
    encode_model,
)
from hmas.controllers.prediction.length_sessions import SessionLengths
from hmas.controllers.prediction.oblivious import TreeRecord, from_catboost

Floats = NDArray[np.float64]

FOLDS: Final = 4
WEIGHT: Final = 60.0
"""A source of n rows weighs as much as ``WEIGHT * sqrt(n)`` rows: small ones count, too."""
LENGTH_TREES: Final = 400
TOOL_TREES: Final = 120
MAX_KNOTS: Final = 32
TOOL_PRIOR: Final = 0.5
"""Where no source says which answers called a tool."""


class Example(msgspec.Struct, frozen=True):
    """One request and its truth; ``called_tool`` None: not known.

    ``features`` are given where the prompt itself was not kept.

    Examples of one session stand in the order in which they were asked.
    """

    source: str
    question: Question
    output_tokens: int
    held_out: bool = False
    called_tool: bool | None = None
    features: LengthFeatures | None = None


class TooFewExamplesError(ValueError):
    """Nothing can be learned from so few."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Examples as arrays; ``words`` is a sparse (rows, BUCKETS) matrix."""

    numbers: Floats
    words: Any
    log_tokens: Floats
    weights: Floats
    train: NDArray[np.bool_]
    fold: NDArray[np.int64]
    tools: NDArray[np.int64]


def fit_length_model(
    examples: Sequence[Example], seed: int, *, version: str = "1", licence: str = ""
) -> tuple[bytes, dict[str, dict[str, float]]]:
    """A model file, and MAE and bias per source on the held-out rows.

    The same examples and seed give the same bytes. Scores that feed a later phase come from
    models that have not seen the row (cross-fitting).

    Raises:
        TooFewExamplesError: fewer than 50 rows to train on.
    """
    rows = _rows(examples, seed)
    if rows.train.sum() < 50:
        raise TooFewExamplesError(f"{rows.train.sum()} rows to train on, at least 50 are needed")
    text, words, words_bias = _fit_words(rows)
    with_text = np.column_stack([rows.numbers, text])
    probability, tools, knots = _fit_tools(rows, with_text, seed)
    lengths = _fit_lengths(rows, np.column_stack([with_text, probability]), seed)
    record = LengthRecord(
        format=FORMAT,
        version=version,
        licence=licence,
        data_hash=data_hash(examples),
        seed=seed,
        metrics={},
        words=words.astype("<f2").tobytes(),
        words_bias=words_bias,
        tools=tools,
        knots=knots,
        lengths=lengths,
        models=sorted({one.question.model for one in examples}),
    )
    metrics = _held_out_metrics(LengthModel(record), examples)
    return encode_model(msgspec.structs.replace(record, metrics=metrics)), metrics


def data_hash(examples: Sequence[Example]) -> str:
    """Names the rows, their order and their split."""
    digest = hashlib.sha256()
    for one in examples:
        said = (one.source, one.question.prompt_tokens, one.output_tokens, one.held_out)
        digest.update(repr(said).encode())
    return digest.hexdigest()[:16]


def _rows(examples: Sequence[Example], seed: int) -> _Rows:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    sessions = SessionLengths()
    numbers: list[list[float]] = []
    buckets: list[int] = []
    ends = [0]
    for one in examples:
        asked = one.question
        features = one.features or read_features(asked)
        numbers.append(features.numbers + sessions.numbers(asked.tenant, asked.session))
        buckets.extend(features.buckets.tolist())
        ends.append(len(buckets))
        sessions.add(asked.tenant, asked.session, float(np.log1p(one.output_tokens)))
    ones = np.ones(len(buckets), dtype=np.float32)
    shape = (len(examples), BUCKETS)
    return _Rows(
        numbers=np.array(numbers).reshape(len(examples), -1),
        words=csr_matrix((ones, buckets, ends), shape=shape),
        log_tokens=np.log1p([one.output_tokens for one in examples]),
        weights=_weights(examples),
        train=np.array([not one.held_out for one in examples]),
        fold=np.random.default_rng(seed).integers(0, FOLDS, len(examples)),
        tools=np.array([-1 if one.called_tool is None else one.called_tool for one in examples]),
    )


def _weights(examples: Sequence[Example]) -> Floats:
    counts: dict[str, int] = {}
    for one in examples:
        counts[one.source] = counts.get(one.source, 0) + (not one.held_out)
    return np.array([WEIGHT / np.sqrt(max(1, counts[one.source])) for one in examples])


def _fit_words(rows: _Rows) -> tuple[Floats, Floats, float]:
    """Cross-fitted scores of all rows, and the ridge regression of all training rows."""
    from sklearn.linear_model import Ridge

    def fitted(chosen: NDArray[np.bool_]) -> Any:
        ridge = Ridge(alpha=3.0, solver="sparse_cg", tol=1e-3, max_iter=80)
        return ridge.fit(rows.words[chosen], rows.log_tokens[chosen], rows.weights[chosen])

    whole = fitted(rows.train)
    scores = np.asarray(whole.predict(rows.words))
    for fold in range(FOLDS):
        left_out = rows.train & (rows.fold == fold)
        if left_out.any():
            scores[left_out] = fitted(rows.train & ~left_out).predict(rows.words[left_out])
    return scores, whole.coef_, float(whole.intercept_)


def _fit_tools(
    rows: _Rows, numbers: Floats, seed: int
) -> tuple[Floats, TreeRecord, list[tuple[float, float]]]:
    """Phase one: cross-fitted probabilities, the classifier, and its calibration's knots."""
    offered = rows.numbers[:, NUMBERS.index("tools")] > 0
    known = rows.train & offered & (rows.tools >= 0)
    if len(np.unique(rows.tools[known])) < 2:
        return np.where(offered, TOOL_PRIOR, 0.0), _stump(numbers.shape[1]), [(0.0, TOOL_PRIOR)]

    def fitted(chosen: NDArray[np.bool_]) -> Any:
        from catboost import CatBoostClassifier

        trees = CatBoostClassifier(iterations=TOOL_TREES, depth=5, **_growth(seed))
        return trees.fit(numbers[chosen], rows.tools[chosen], sample_weight=rows.weights[chosen])

    whole = fitted(known)
    raw = np.asarray(whole.predict(numbers, prediction_type="RawFormulaVal"))
    for fold in range(FOLDS):
        left_out = known & (rows.fold == fold)
        chosen = known & ~left_out
        if left_out.any() and len(np.unique(rows.tools[chosen])) == 2:
            guessed = fitted(chosen).predict(numbers[left_out], prediction_type="RawFormulaVal")
            raw[left_out] = guessed
    knots = _calibration(raw[known], rows.tools[known], rows.weights[known])
    probability = np.interp(raw, [x for x, _ in knots], [y for _, y in knots])
    return np.where(offered, probability, 0.0), _exported(whole), knots


def _calibration(
    raw: Floats, truth: NDArray[np.int64], weights: Floats
) -> list[tuple[float, float]]:
    """Isotonic regression at evenly spaced quantiles of the raw score."""
    from sklearn.isotonic import IsotonicRegression

    isotonic = IsotonicRegression(y_min=0.01, y_max=0.99, out_of_bounds="clip")
    isotonic.fit(raw, truth, sample_weight=weights)
    places = np.unique(np.quantile(raw, np.linspace(0, 1, MAX_KNOTS)))
    return [(float(x), float(y)) for x, y in zip(places, isotonic.predict(places), strict=True)]


def _fit_lengths(rows: _Rows, numbers: Floats, seed: int) -> TreeRecord:
    """Phase two: median and nine-tenths quantile of log(1 + tokens)."""
    from catboost import CatBoostRegressor

    trees = CatBoostRegressor(
        loss_function="MultiQuantile:alpha=0.5,0.9",
        iterations=LENGTH_TREES,
        depth=6,
        boosting_type="Plain",
        **_growth(seed),
    )
    chosen = np.flatnonzero(rows.train)
    np.random.default_rng(seed).shuffle(chosen)
    trees.fit(numbers[chosen], rows.log_tokens[chosen], sample_weight=rows.weights[chosen])
    return _exported(trees)


def _growth(seed: int) -> dict[str, Any]:
    return {
        "learning_rate": 0.1,
        "random_seed": seed,
        "thread_count": 1,
        "verbose": 0,
        "allow_writing_files": False,
    }


def _exported(trees: Any) -> TreeRecord:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trees.json"
        trees.save_model(str(path), format="json")
        return from_catboost(json.loads(path.read_text(encoding="utf-8")))


def _stump(numbers: int) -> TreeRecord:
    """Trees that say nothing."""
    empty = {"splits": [{"float_feature_index": numbers - 1, "border": 0.0}], "leaf_values": [0, 0]}
    return from_catboost({"scale_and_bias": [1.0, [0.0]], "oblivious_trees": [empty]})


def _held_out_metrics(
    model: LengthModel, examples: Sequence[Example]
) -> dict[str, dict[str, float]]:
    """The model alone, before anything is learned on line."""
    sessions, errors = SessionLengths(), dict[str, list[tuple[float, float]]]()
    for one in examples:
        asked = one.question
        if one.held_out:
            numbers = sessions.numbers(asked.tenant, asked.session)
            guess = model.guess(one.features or read_features(asked), numbers)
            error = abs(float(np.expm1(guess.median)) - one.output_tokens)
            within = np.log1p(one.output_tokens) <= guess.median + guess.spread
            errors.setdefault(one.source, []).append((error, float(within)))
        sessions.add(asked.tenant, asked.session, float(np.log1p(one.output_tokens)))
    return {
        source: {
            "rows": float(len(found)),
            "mae_tokens": round(sum(e for e, _ in found) / len(found), 2),
            "below_upper_quantile": round(sum(w for _, w in found) / len(found), 4),
        }
        for source, found in errors.items()
    }
