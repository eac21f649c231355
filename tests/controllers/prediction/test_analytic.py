from __future__ import annotations

import pytest

from hmas.controllers.prediction.analytic import AnalyticPredictor, TypicalBatch
from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.engine.directive import StepModel
from hmas.engine.features import TaskType


def test_latencies_come_from_the_step_model() -> None:
    model = StepModel(base_ms=5, prefill_ms=0.1, context_ms=0.001, sequence_ms=0.5)
    predictor = AnalyticPredictor(model, HistoryPredictor(), TypicalBatch(3, 1000))
    answer = predictor.predict(Question("a", TaskType.QA, 1000, max_output_tokens=7))
    decode_ms = 5 + 0.001 * 4000 + 0.5 * 4
    assert answer.tpot_ms == pytest.approx(decode_ms)
    assert answer.ttft_ms == pytest.approx(decode_ms + 100)
    assert (answer.output_tokens, answer.latency_source) == (7, "analytic")
