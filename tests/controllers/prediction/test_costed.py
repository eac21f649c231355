"""Lengths and costs in one prediction."""

from __future__ import annotations

from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.choice import EngineChoice
from hmas.controllers.prediction.cost import AnalyticCosts, TrainedCosts
from hmas.controllers.prediction.cost_model import CostModel
from hmas.controllers.prediction.costed import CostedPredictor
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.controllers.prediction.in_flight import InFlight
from hmas.engine.features import TaskType
from tests.controllers.prediction.cost_support import A100, finished, record

QUESTION = Question(tenant="t", task_type=TaskType.QA, prompt_tokens=200, request_id="r")


def test_latencies_come_from_the_chosen_predictor() -> None:
    trained = TrainedCosts(CostModel(record()), A100)
    predictor = CostedPredictor(HistoryPredictor(), EngineChoice("e", [trained]), InFlight().load)
    predicted = predictor.predict(QUESTION)
    assert (round(predicted.ttft_ms), round(predicted.tpot_ms)) == (100, 20)
    assert predicted.latency_source == "trained"
    assert predicted.output_tokens == HistoryPredictor().predict(QUESTION).output_tokens


def test_what_finished_is_learned_from() -> None:
    choice = EngineChoice("e", [TrainedCosts(CostModel(record()), A100)])
    predictor = CostedPredictor(HistoryPredictor(), choice, InFlight().load)
    predictor.predict(QUESTION)
    predictor.observe(finished("r", 100, 20))
    assert choice.choice().candidates[0].samples == 1


def test_history_stands_where_no_cost_is_known() -> None:
    choice = EngineChoice("e", [AnalyticCosts(lambda: None)])
    predictor = CostedPredictor(HistoryPredictor(), choice, InFlight().load)
    assert predictor.predict(QUESTION).latency_source == "history"
