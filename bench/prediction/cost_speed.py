"""What the price of one request costs before its dispatch, by who is chosen to say it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from hmas.bench.prediction.lengths import Row
from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.choice import EngineChoice
from hmas.controllers.prediction.cost import (
    AnalyticCosts,
    Cost,
    CostPredictor,
    TrainedCosts,
    priced,
)
from hmas.controllers.prediction.cost_features import EngineRows, Load
from hmas.controllers.prediction.cost_history import HistoryCosts
from hmas.controllers.prediction.cost_model import CostModel
from hmas.controllers.prediction.costed import EngineCosts
from hmas.controllers.prediction.hardware import engine_shape
from hmas.engine.directive import StepModel
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures, TaskType

WARM_UP: Final = 2000
MEASURED: Final = 4000
MOST_IN_FLIGHT: Final = 60
SHAPE: Final = engine_shape("A100", parameters_b=7, layers=32, heads=32, vocabulary=32_000)
STEP: Final = StepModel(base_ms=10, prefill_ms=0.1, context_ms=0.001, sequence_ms=0.5)


def measure_cost_speed(
    model: CostModel, seed: int, timer: Callable[[], float] = time.thread_time
) -> list[Row]:
    """Microseconds of processor time under a load that changes, after warming up."""
    candidates: dict[str, CostPredictor] = {
        "trained": TrainedCosts(model, SHAPE),
        "trained, every load new": _Uncached(model),
        "analytic": AnalyticCosts(lambda: STEP),
        "history": HistoryCosts(),
    }
    return [
        _measured(name, EngineCosts(EngineChoice(name, [predictor])), seed, timer)
        for name, predictor in candidates.items()
    ]


class _Uncached:
    """The trained model, its trees asked every time: what a load not seen before costs."""

    name: Final = "trained"

    def __init__(self, model: CostModel) -> None:
        self._model = model
        self._rows = EngineRows(SHAPE)

    def cost(self, load: Load) -> Cost | None:
        return priced(*self._model.predict(self._rows.row(load)))

    def learn(self, load: Load, finished: RequestFinished) -> None:
        """It was trained beforehand."""


def _measured(name: str, engine: EngineCosts, seed: int, timer: Callable[[], float]) -> Row:
    chance = random.Random(seed)  # noqa: S311
    live: list[str] = []
    took_s = []
    for number in range(WARM_UP + MEASURED):
        prompt, output = int(chance.lognormvariate(5, 1)), int(chance.lognormvariate(3, 1))
        question = Question("t", TaskType.QA, prompt, request_id=str(number))
        begun_s = timer()
        engine.price(question, output)
        took_s.append(timer() - begun_s)
        live.append(question.request_id)
        while len(live) > chance.randint(1, MOST_IN_FLIGHT):
            _finish(engine, live.pop(0))
    us = np.array(took_s[WARM_UP:]) * 1e6
    return {
        "said by": name,
        "mean_us": round(float(us.mean()), 1),
        "p50_us": round(float(np.median(us)), 1),
        "p99_us": round(float(np.percentile(us, 99)), 1),
    }


def _finish(engine: EngineCosts, request_id: str) -> None:
    features = RequestFeatures(request_id=request_id, arrival_s=0.0)
    finished = RequestFinished(
        at_s=0.0,
        features=features,
        outcome=Outcome.COMPLETED,
        prompt_tokens=1,
        output_tokens=2,
        ttft_s=0.1,
        tpot_s=0.02,
    )
    engine.choice.observe(finished)
    engine.left(request_id)
