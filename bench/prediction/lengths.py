"""The length table: every set with real outputs, beside two baselines of the same run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

import numpy as np

from hmas.bench.corpus_lengths.catalogue import card
from hmas.bench.corpus_lengths.counted import PROXY
from hmas.bench.corpus_lengths.sample import Part, Sample
from hmas.bench.prediction.baselines import Baseline, PromptLengthRegression, TaskMean
from hmas.bench.prediction.prequential import part, replay
from hmas.bench.prediction.proxy import proxy_row
from hmas.bench.prediction.scores import (
    LEVEL,
    Floats,
    Outcomes,
    coverage,
    coverage_by_bucket,
    kendall_tau,
    mean_absolute_error,
    median_relative_error,
    pinball,
    r2_log,
)
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.length_model import LengthModel

Row = dict[str, object]
Say = Callable[[str], None]

WANTED_BELOW_REGRESSION: Final = 0.30
WANTED_BELOW_TASK_MEAN: Final = 0.15
WANTED_COVERAGE_WITHIN: Final = 0.02
MIN_VERDICT_ROWS: Final = 500
"""Coverage of fewer requests is shown, not judged: its own noise is above one point."""


@dataclass(frozen=True, slots=True)
class _Rivals:
    """Baselines trained on the rows of all sets, as one gateway with all of them would be."""

    regression: PromptLengthRegression
    task_mean: TaskMean


def measure(
    sets: Mapping[str, Sequence[Sample]], seed: int, model: LengthModel, say: Say
) -> list[Row]:
    """One row per set, in the order of the sets."""
    known = [s for name in sets if name != PROXY.name for s in sets[name] if _is_known(s)]
    rivals = _Rivals(PromptLengthRegression(known), TaskMean(known))
    rows = []
    for name, samples in sets.items():
        say(f"lengths of {name}")
        if name == PROXY.name:
            rows.append(proxy_row(samples, seed))
        else:
            rows.append(_set_row(name, samples, rivals, model, seed))
    return rows


def _set_row(
    name: str, samples: Sequence[Sample], rivals: _Rivals, model: LengthModel, seed: int
) -> Row:
    of_set = card(name)
    warm = part(samples, Part.WARM, seed, is_ordered=of_set.is_ordered)
    test = part(samples, Part.TEST, seed, is_ordered=of_set.is_ordered)
    predictor, history = LengthPredictor(model), HistoryPredictor()
    replay(predictor, warm, "warm")
    replay(history, warm, "warm")
    found = replay(predictor, test)
    known = [sample for sample in samples if _is_known(sample)]
    mae = mean_absolute_error(found.truth, found.predicted)
    others = {
        "history": mean_absolute_error(found.truth, replay(history, test).predicted),
        "mixed_regression": _mae_of(deepcopy(rivals.regression), test),
        "mixed_task_mean": _mae_of(deepcopy(rivals.task_mean), test),
        "own_regression": _mae_of(PromptLengthRegression(known), test),
        "own_task_mean": _mae_of(TaskMean(known), test),
    }
    return (
        {"set": name, "text": of_set.has_text, "ordered": of_set.is_ordered, "rows": len(test)}
        | _figures(found)
        | {f"mae_{rival}": round(value, 2) for rival, value in others.items()}
        | _verdicts(mae, others)
        | coverage_verdict(found)
        | {"source": of_set.source, "licence": of_set.licence, "split": of_set.split}
    )


def _is_known(sample: Sample) -> bool:
    return sample.part is not Part.TEST


def _mae_of(baseline: Baseline, test: Sequence[Sample]) -> float:
    """Of a baseline that goes on learning from each request, as the predictor does."""
    predicted = []
    for sample in test:
        predicted.append(baseline.predict(sample))
        baseline.learn(sample)
    truth: Floats = np.array([sample.output_tokens for sample in test], dtype=float)
    return mean_absolute_error(truth, np.array(predicted))


def _figures(found: Outcomes) -> Row:
    truth, predicted = found.truth, found.predicted
    return {
        "mae": round(mean_absolute_error(truth, predicted), 2),
        "median_ape": round(median_relative_error(truth, predicted), 4),
        "r2_log": _rounded(r2_log(truth, predicted)),
        "kendall_tau": _rounded(kendall_tau(truth, predicted)),
        "pinball_50": round(mean_absolute_error(truth, predicted) / 2, 2),
        "pinball_90": _rounded(pinball(truth, found.upper)),
        "coverage_90": _rounded(coverage(found)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _verdicts(mae: float, others: dict[str, float]) -> Row:
    """Against baselines of the mix (what the target means), and of this set alone (harder)."""
    made: Row = {}
    for kind in ("mixed", "own"):
        regression = 1 - mae / others[f"{kind}_regression"]
        task_mean = 1 - mae / others[f"{kind}_task_mean"]
        passed = regression >= WANTED_BELOW_REGRESSION and task_mean >= WANTED_BELOW_TASK_MEAN
        made[f"below_{kind}_regression"] = round(regression, 4)
        made[f"below_{kind}_task_mean"] = round(task_mean, 4)
        made[f"{kind}_verdict"] = "pass" if passed else "fail"
    return made


def coverage_verdict(found: Outcomes) -> Row:
    """Overall and per bucket; 'not measured' with too few requests to tell two points."""
    overall, buckets = coverage(found), coverage_by_bucket(found)
    shown: Row = {
        f"coverage_bucket_{bucket}": round(value, 4) for bucket, (_, value) in buckets.items()
    }
    if overall is None or len(found.truth) < MIN_VERDICT_ROWS:
        return {"coverage_verdict": "not measured"} | shown
    every = [overall, *(value for _, value in buckets.values())]
    passed = all(abs(value - LEVEL) <= WANTED_COVERAGE_WITHIN for value in every)
    return {"coverage_verdict": "pass" if passed else "fail"} | shown
