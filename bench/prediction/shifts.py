"""Coverage of the bound when the mix of requests changes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hmas.bench.corpus_lengths.sample import Part, Sample
from hmas.bench.prediction.lengths import WANTED_COVERAGE_WITHIN, Row
from hmas.bench.prediction.prequential import replay
from hmas.bench.prediction.scores import LEVEL, coverage, coverage_by_bucket
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.length_model import LengthModel

BEFORE: Final = 3000
AFTER: Final = 5000
SETTLED: Final = 500
"""Requests after the shift by which the bound has to hold again."""

SHIFTS: Final = {
    "short to long answers": (
        ("gsm8k", "t0_templates", "azure_code"),
        ("medquad", "alpaca", "sharegpt_lengths", "claude_code_traces"),
    ),
    "long to short answers": (
        ("medquad", "sharegpt_lengths", "claude_code_traces"),
        ("gsm8k", "t0_templates", "azure_code"),
    ),
    "conversation to coding agents": (
        ("azure_conv", "sharegpt_lengths"),
        ("azure_code", "claude_code_traces"),
    ),
}


def measure_shifts(
    sets: Mapping[str, Sequence[Sample]], seed: int, model: LengthModel
) -> list[Row]:
    """A row per shift whose sets are all there; only rows that nobody trained on."""
    return [
        _shift_row(
            name,
            mixed(sets, before, BEFORE, seed),
            mixed(sets, after, AFTER, seed + 1),
            LengthPredictor(model),
        )
        for name, (before, after) in SHIFTS.items()
        if all(wanted in sets for wanted in (*before, *after))
    ]


def _shift_row(
    name: str, before: Sequence[Sample], after: Sequence[Sample], predictor: LengthPredictor
) -> Row:
    first = replay(predictor, before, "before")
    then = replay(predictor, after, "after")
    settled = then.after(SETTLED)
    by_bucket = {bucket: value for bucket, (_, value) in coverage_by_bucket(settled).items()}
    overall = coverage(settled)
    every = [*by_bucket.values(), *([] if overall is None else [overall])]
    within = every and all(abs(value - LEVEL) <= WANTED_COVERAGE_WITHIN for value in every)
    return {
        "shift": name,
        "coverage_before": _shown(coverage(first.after(SETTLED))),
        "coverage_next_500": _shown(coverage(then.after(0, SETTLED))),
        "coverage_after_500": _shown(overall),
        "verdict": "pass" if within else "fail",
        **{f"bucket_{bucket}": round(value, 4) for bucket, value in by_bucket.items()},
    }


def mixed(
    sets: Mapping[str, Sequence[Sample]], names: Sequence[str], count: int, seed: int
) -> list[Sample]:
    """``count`` requests in equal shares, each set in its own order, at random among each other."""
    rng = np.random.default_rng(seed)
    share = count // len(names)
    queues = [[one for one in sets[name] if one.part is not Part.TRAIN][-share:] for name in names]
    turns = rng.permutation(np.repeat(np.arange(len(names)), [len(queue) for queue in queues]))
    sources = [iter(queue) for queue in queues]
    return [next(sources[turn]) for turn in turns]


def _shown(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
