"""Costs from trees and from a step-time model, behind one interface."""

from __future__ import annotations

import random
from collections.abc import Sequence
from time import perf_counter

import pytest
from msgspec import structs

from hmas.controllers.prediction.cost import AnalyticCosts, Cost, CostPredictor, TrainedCosts
from hmas.controllers.prediction.cost_features import Load
from hmas.controllers.prediction.cost_model import CostModel, read_cost_model
from hmas.controllers.prediction.in_flight import InFlight
from hmas.engine.directive import StepModel
from tests.controllers.prediction.cost_support import A100, record

LOAD = Load(prompt_tokens=200, output_tokens=11)
STEP = StepModel(base_ms=10, prefill_ms=0.1, context_ms=0.001, sequence_ms=0.5)
MAX_MEAN_MS = 0.05


class CountedModel(CostModel):
    """Counts how often its trees are asked."""

    asked = 0

    def predict(self, numbers: Sequence[float]) -> list[float]:
        self.asked += 1
        return super().predict(numbers)


def told(predictor: CostPredictor, load: Load) -> Cost:
    cost = predictor.cost(load)
    assert cost is not None
    return cost


def test_trained_costs_come_from_the_model() -> None:
    cost = told(TrainedCosts(CostModel(record()), A100), LOAD)
    assert (cost.ttft_ms, cost.tpot_ms) == pytest.approx((100, 20))
    assert cost.throughput_tokens_s == pytest.approx(1000 / 40)


def test_trees_are_asked_once_per_bucket() -> None:
    model = CountedModel(record())
    costs = TrainedCosts(model, A100)
    for prompt_tokens in (200, 300, 190, 200):
        told(costs, structs.replace(LOAD, prompt_tokens=prompt_tokens))
    assert model.asked == 1
    told(costs, structs.replace(LOAD, prompt_tokens=900))
    told(costs, structs.replace(LOAD, in_flight=9))
    assert model.asked == 3


def test_a_prompt_is_prefilled_after_those_before_it() -> None:
    alone = told(AnalyticCosts(lambda: STEP), LOAD)
    behind = structs.replace(
        LOAD, in_flight=3, prefilling=3, in_flight_tokens=1500, prefilling_tokens=1500
    )
    assert alone.ttft_ms == pytest.approx(10 + 20 + 0.2 + 0.5)
    assert told(AnalyticCosts(lambda: STEP), behind).ttft_ms == pytest.approx(10 + 170 + 1.7 + 2)


def test_prompts_beyond_the_budget_of_a_step_take_more_steps() -> None:
    long = structs.replace(LOAD, prompt_tokens=4000)
    one = told(AnalyticCosts(lambda: STEP, token_budget=8192), long).ttft_ms
    four = told(AnalyticCosts(lambda: STEP, token_budget=1000), long).ttft_ms
    assert four - one == pytest.approx(3 * (10 + 4 + 0.5))


def test_decodes_wait_for_the_prompts_of_those_beside_them() -> None:
    alone = told(AnalyticCosts(lambda: STEP), LOAD)
    beside = structs.replace(LOAD, in_flight=10, in_flight_tokens=2000)
    assert told(AnalyticCosts(lambda: STEP), beside).tpot_ms > alone.tpot_ms + 5


def test_latency_per_token_holds_prefill_and_decode() -> None:
    cost = told(AnalyticCosts(lambda: STEP), LOAD)
    assert cost.latency_per_token_ms == pytest.approx((cost.ttft_ms + 10 * cost.tpot_ms) / 11)
    assert cost.throughput_tokens_s == pytest.approx(1000 / cost.latency_per_token_ms)


def test_nothing_is_said_before_the_step_model_is_known() -> None:
    assert AnalyticCosts(lambda: None).cost(LOAD) is None


def test_the_shipped_model_costs_little_under_a_changing_load() -> None:
    costs = TrainedCosts(read_cost_model(), A100)
    loads = changing_loads(6000)
    for load in loads[:3000]:
        told(costs, load)
    begun_s = perf_counter()
    for load in loads[3000:]:
        told(costs, load)
    # Ten times the promise: other work may run beside the tests.
    assert (perf_counter() - begun_s) * 1000 / 3000 < 10 * MAX_MEAN_MS


def changing_loads(count: int) -> list[Load]:
    """As a gateway would count them: a walk of 0 to about 60 in flight."""
    chance = random.Random(0)
    held, sent, waiting, loads = InFlight(), [], [], []
    for number in range(count):
        prompt, output = int(chance.lognormvariate(5, 1)), int(chance.lognormvariate(3, 1))
        loads.append(held.load(prompt, output))
        name = str(number)
        held.sent(name, prompt)
        waiting.append(name)
        while len(waiting) > chance.randint(1, 8):
            sent.append(waiting.pop(0))
            held.first_token(sent[-1])
        while len(sent) > 30 + 30 * chance.random():
            held.finished(sent.pop(0))
    return loads
