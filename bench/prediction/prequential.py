"""Runs a predictor over requests as a gateway does: predict, then learn the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hmas.bench.corpus_lengths.sample import Part, Sample
from hmas.bench.prediction.scores import Outcomes, outcomes
from hmas.controllers.prediction.base import Predictor
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures, length_bucket


def finished(sample: Sample, request_id: str) -> RequestFinished:
    """The event that ends this request; latencies are not looked at here."""
    features = RequestFeatures(
        request_id=request_id,
        arrival_s=0.0,
        tenant=sample.tenant,
        task_type=sample.task_type,
        prompt_tokens=sample.prompt_tokens,
    )
    return RequestFinished(
        at_s=0.0,
        features=features,
        outcome=Outcome.COMPLETED,
        prompt_tokens=sample.prompt_tokens,
        output_tokens=sample.output_tokens,
        ttft_s=0.0,
        tpot_s=0.0,
    )


def replay(predictor: Predictor, samples: Iterable[Sample], name: str = "r") -> Outcomes:
    """What was predicted of each request just before its truth was learned."""
    truth, predicted, upper, bucket = [], [], [], []
    for number, sample in enumerate(samples):
        request_id = f"{name}{number}"
        answer = predictor.predict(sample.question(request_id))
        predictor.observe(finished(sample, request_id))
        truth.append(float(sample.output_tokens))
        predicted.append(float(answer.output_tokens))
        upper.append(None if answer.upper_tokens is None else float(answer.upper_tokens))
        bucket.append(length_bucket(sample.prompt_tokens))
    return outcomes(truth, predicted, upper, bucket)


def part(samples: Sequence[Sample], wanted: Part, seed: int, *, is_ordered: bool) -> list[Sample]:
    """Rows of one part; those of a set without an order are shuffled."""
    chosen = [sample for sample in samples if sample.part is wanted]
    if is_ordered:
        return chosen
    order = np.random.default_rng(seed).permutation(len(chosen))
    return [chosen[place] for place in order]
