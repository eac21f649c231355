"""Lengths from one predictor, latencies from the cost predictor that an engine's errors chose."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hmas.controllers.prediction.base import Prediction, Predictor, Question
from hmas.controllers.prediction.choice import EngineChoice
from hmas.controllers.prediction.cost_features import Load
from hmas.engine.events import RequestFinished


class CostedPredictor:
    """``load(prompt_tokens, output_tokens)`` says what the engine holds now.

    Where no cost predictor can tell, the latencies of ``lengths`` stand.
    """

    def __init__(
        self, lengths: Predictor, choice: EngineChoice, load: Callable[[int, int], Load]
    ) -> None:
        self._lengths = lengths
        self._choice = choice
        self._load = load

    def observe(self, finished: RequestFinished) -> None:
        self._lengths.observe(finished)
        self._choice.observe(finished)

    def predict(self, question: Question) -> Prediction:
        predicted = self._lengths.predict(question)
        load = self._load(question.prompt_tokens, predicted.output_tokens)
        cost, source = self._choice.predict(question.request_id, load)
        if cost is None:
            return predicted
        return msgspec.structs.replace(
            predicted, ttft_ms=cost.ttft_ms, tpot_ms=cost.tpot_ms, latency_source=source
        )
