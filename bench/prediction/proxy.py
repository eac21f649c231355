"""The conformal bound under the real errors of somebody else's predictor."""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, floor, log1p

import numpy as np

from hmas.bench.corpus_lengths.counted import PROXY
from hmas.bench.corpus_lengths.sample import Part, Sample
from hmas.bench.prediction.prequential import part
from hmas.bench.prediction.scores import (
    Outcomes,
    coverage,
    coverage_by_bucket,
    kendall_tau,
    mean_absolute_error,
    median_relative_error,
    outcomes,
    pinball,
    r2_log,
)
from hmas.controllers.prediction.length_bound import LengthBound


def proxy_row(samples: Sequence[Sample], seed: int) -> dict[str, object]:
    """The predicted class stands for the prompt-length bucket; its training median predicts."""
    test = part(samples, Part.TEST, seed, is_ordered=False)
    medians = _medians([sample for sample in samples if sample.part is Part.TRAIN])
    found = bounded(test, medians)
    buckets = coverage_by_bucket(found)
    tau, r2 = kendall_tau(found.truth, found.predicted), r2_log(found.truth, found.predicted)
    return {
        "set": PROXY.name,
        "text": False,
        "ordered": False,
        "rows": len(test),
        "mae": round(mean_absolute_error(found.truth, found.predicted), 2),
        "median_ape": round(median_relative_error(found.truth, found.predicted), 4),
        "r2_log": None if r2 is None else round(r2, 4),
        "kendall_tau": None if tau is None else round(tau, 4),
        "pinball_90": round(pinball(found.truth, found.upper) or 0.0, 4),
        "coverage_90": round(coverage(found) or 0.0, 4),
        **{f"coverage_bucket_{bucket}": round(value, 4) for bucket, (_, value) in buckets.items()},
        "source": PROXY.source,
        "licence": PROXY.licence,
        "split": PROXY.split,
    }


def bounded(test: Sequence[Sample], medians: dict[int, float]) -> Outcomes:
    """The bound of each request just before its length was learned."""
    bound = LengthBound()
    truth, predicted, upper, bucket = [], [], [], []
    for sample in test:
        tag = sample.predicted_class or 0
        base = log1p(medians.get(tag, 0.0))
        margin = bound.margin(tag)
        limit = None if margin is None else float(floor(expm1(max(0.0, base + margin)) + 1e-6))
        hit = None if limit is None else sample.output_tokens <= limit
        bound.observe(tag, log1p(sample.output_tokens) - base, hit=hit)
        truth.append(float(sample.output_tokens))
        predicted.append(medians.get(tag, 0.0))
        upper.append(limit)
        bucket.append(tag)
    return outcomes(truth, predicted, upper, bucket)


def _medians(samples: Sequence[Sample]) -> dict[int, float]:
    by_class: dict[int, list[int]] = {}
    for sample in samples:
        by_class.setdefault(sample.predicted_class or 0, []).append(sample.output_tokens)
    return {tag: float(np.median(lengths)) for tag, lengths in by_class.items()}
