"""What one length prediction costs, on prompts of the public sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from hmas.bench.corpus_lengths.sample import Part, Sample
from hmas.bench.prediction.lengths import Row
from hmas.bench.prediction.prequential import finished
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.length_model import LengthModel

WARM_UP: Final = 500
MEASURED: Final = 3000


def measure_speed(
    sets: Mapping[str, Sequence[Sample]],
    seed: int,
    model: LengthModel,
    timer: Callable[[], float] = time.thread_time,
) -> Row:
    """Microseconds of processor time per prediction and per finished request, after warming up.

    Raises :class:`ValueError` where no set has prompts with text.
    """
    prompts = [
        one for rows in sets.values() for one in rows if one.part is Part.TEST and one.prompt.text
    ]
    if not prompts:
        raise ValueError("no set has prompts with text")
    predictor, predicted_s, learned_s = LengthPredictor(model), [], []
    for number, place in enumerate(
        np.random.default_rng(seed).integers(0, len(prompts), WARM_UP + MEASURED)
    ):
        sample = prompts[place]
        question, event = sample.question(f"r{number}"), finished(sample, f"r{number}")
        begun_s = timer()
        predictor.predict(question)
        answered_s = timer()
        predictor.observe(event)
        learned_s.append(timer() - answered_s)
        predicted_s.append(answered_s - begun_s)
    predict_us = np.array(predicted_s[WARM_UP:]) * 1e6
    return {
        "prompts": MEASURED,
        "predict_mean_us": round(float(predict_us.mean()), 1),
        "predict_p50_us": round(float(np.median(predict_us)), 1),
        "predict_p99_us": round(float(np.percentile(predict_us, 99)), 1),
        "learn_mean_us": round(float(np.mean(learned_s[WARM_UP:])) * 1e6, 1),
    }
