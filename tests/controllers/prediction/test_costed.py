"""Lengths and costs in one prediction, for the engine that will get the request."""

from __future__ import annotations

from msgspec import structs

from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.choice import EngineChoice
from hmas.controllers.prediction.cost import AnalyticCosts, TrainedCosts
from hmas.controllers.prediction.cost_model import CostModel
from hmas.controllers.prediction.costed import CostedPredictor, EngineCosts, FleetCosts
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.engine.directive import StepModel
from hmas.engine.features import TaskType
from tests.controllers.prediction.cost_support import A100, finished, record

QUESTION = Question(tenant="t", task_type=TaskType.QA, prompt_tokens=200, request_id="r")
STEP = StepModel(base_ms=10, prefill_ms=1, context_ms=0, sequence_ms=0)


def trained() -> EngineCosts:
    return EngineCosts(EngineChoice("e", [TrainedCosts(CostModel(record()), A100)]))


def analytic(others: int = 0) -> EngineCosts:
    return EngineCosts(EngineChoice("e", [AnalyticCosts(lambda: STEP)]), lambda: others)


def samples(engine: EngineCosts) -> int:
    return engine.choice.choice().candidates[0].samples


def test_latencies_come_from_the_chosen_predictor() -> None:
    engine = trained()
    predicted = CostedPredictor(HistoryPredictor(), lambda _: engine).predict(QUESTION)
    assert (round(predicted.ttft_ms), round(predicted.tpot_ms)) == (100, 20)
    assert predicted.latency_source == "trained"
    assert predicted.output_tokens == HistoryPredictor().predict(QUESTION).output_tokens


def test_lengths_are_learned_from() -> None:
    lengths = HistoryPredictor()
    predictor = CostedPredictor(lengths, lambda _: None)
    for number in range(20):
        predictor.observe(finished(f"r{number}", 100, 20))
    assert predictor.predict(QUESTION).output_tokens == 20


def test_history_stands_where_no_cost_is_known() -> None:
    silent = EngineCosts(EngineChoice("e", [AnalyticCosts(lambda: None)]))
    for engine in (silent, None):
        predictor = CostedPredictor(HistoryPredictor(), lambda _, found=engine: found)
        assert predictor.predict(QUESTION).latency_source == "history"


def test_what_was_priced_is_in_flight_until_it_ends() -> None:
    engine = analytic()
    alone, _ = engine.price(QUESTION, 10)
    beside, _ = engine.price(structs.replace(QUESTION, request_id="s"), 10)
    assert alone is not None
    assert beside is not None
    assert (alone.ttft_ms, beside.ttft_ms) == (210, 410)
    FleetCosts({"e": engine}).ended("r")
    FleetCosts({"e": engine}).ended("s")
    assert engine.in_flight.load(1, 1).in_flight == 0


def test_a_rehearsal_is_not_in_flight() -> None:
    engine = trained()
    engine.price(structs.replace(QUESTION, request_id=""), 10)
    assert engine.in_flight.load(1, 1).in_flight == 0


def test_requests_of_other_processes_count() -> None:
    alone, _ = analytic().price(QUESTION, 10)
    crowded, _ = analytic(others=7).price(QUESTION, 10)
    assert alone is not None
    assert crowded is not None
    assert crowded.tpot_ms > alone.tpot_ms


def test_the_engine_that_answered_is_the_one_that_is_measured() -> None:
    guessed, other = trained(), trained()
    fleet = FleetCosts({"guessed": guessed, "other": other})
    guessed.price(QUESTION, 10)
    fleet.first_token("guessed", "r", 200)
    assert guessed.in_flight.load(1, 1).prefilling == 0
    fleet.measured("guessed", finished("r", 100, 20))
    fleet.measured("nobody", finished("r", 100, 20))
    assert (samples(guessed), samples(other)) == (1, 0)


def test_a_request_that_failed_over_moves_and_teaches_nobody() -> None:
    guessed, other = trained(), trained()
    fleet = FleetCosts({"guessed": guessed, "other": other})
    guessed.price(QUESTION, 10)
    fleet.first_token("other", "r", 200)
    assert "r" not in guessed.in_flight
    assert other.in_flight.load(1, 1).in_flight_tokens == 200
    fleet.measured("other", finished("r", 100, 20))
    fleet.ended("r")
    assert (samples(guessed), samples(other)) == (0, 0)
    assert "r" not in other.in_flight
