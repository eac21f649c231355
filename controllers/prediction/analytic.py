"""Latencies from a step-time model where no trained model fits the engine."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from hmas.controllers.prediction.base import Prediction, Predictor, Question
from hmas.engine.directive import StepModel
from hmas.engine.events import RequestFinished


@dataclass(frozen=True, slots=True)
class TypicalBatch:
    """What runs beside a request: sequences, and context tokens of each."""

    sequences: int = 16
    context_tokens: int = 1024


class AnalyticPredictor:
    """Lengths from ``lengths``; one prefill step gives TTFT, one decode step TPOT."""

    def __init__(
        self, step_model: StepModel, lengths: Predictor, batch: TypicalBatch | None = None
    ) -> None:
        self._step_model = step_model
        self._lengths = lengths
        self._batch = batch or TypicalBatch()

    def observe(self, finished: RequestFinished) -> None:
        self._lengths.observe(finished)

    def predict(self, question: Question) -> Prediction:
        beside = self._batch.sequences * self._batch.context_tokens
        sequences = self._batch.sequences + 1
        context = beside + question.prompt_tokens
        return msgspec.structs.replace(
            self._lengths.predict(question),
            ttft_ms=self._step_model.step_ms(question.prompt_tokens, context, sequences),
            tpot_ms=self._step_model.step_ms(0, context, sequences),
            latency_source="analytic",
        )
