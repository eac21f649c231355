"""Costs of what found the engine about as busy."""

from __future__ import annotations

from msgspec import structs

from hmas.controllers.prediction.choice import EngineChoice
from hmas.controllers.prediction.cost import TrainedCosts
from hmas.controllers.prediction.cost_features import Load
from hmas.controllers.prediction.cost_history import HistoryCosts
from hmas.controllers.prediction.cost_model import CostModel
from hmas.controllers.prediction.history import MIN_SAMPLES
from tests.controllers.prediction.cost_support import A100, finished, record

IDLE = Load(prompt_tokens=100, output_tokens=11)
BUSY = structs.replace(IDLE, in_flight=32)


def after(*seen: tuple[Load, float, float]) -> HistoryCosts:
    costs = HistoryCosts()
    for number in range(MIN_SAMPLES):
        for load, ttft_ms, tpot_ms in seen:
            costs.learn(load, finished(f"r{number}", ttft_ms, tpot_ms))
    return costs


def test_nothing_is_said_before_anything_was_seen() -> None:
    assert HistoryCosts().cost(IDLE) is None


def test_a_busy_engine_is_not_an_idle_one() -> None:
    costs = after((IDLE, 50, 10), (BUSY, 400, 30))
    idle, busy = costs.cost(IDLE), costs.cost(BUSY)
    assert idle is not None
    assert busy is not None
    assert (idle.ttft_ms, idle.tpot_ms) == (50, 10)
    assert (busy.ttft_ms, busy.tpot_ms) == (400, 30)
    assert idle.latency_per_token_ms == (50 + 10 * 10) / 11


def test_a_load_never_seen_gets_what_is_nearest() -> None:
    cost = after((IDLE, 50, 10)).cost(structs.replace(BUSY, prompt_tokens=5000))
    assert cost is not None
    assert (cost.ttft_ms, cost.tpot_ms) == (50, 10)


def test_latencies_that_were_not_measured_teach_nothing() -> None:
    assert after((IDLE, 0, 0)).cost(IDLE) is None
    one_token = after((IDLE, 50, 0)).cost(IDLE)
    assert one_token is not None
    assert (one_token.ttft_ms, one_token.tpot_ms) == (50, 0)


def test_history_replaces_a_trained_model_that_is_badly_wrong_within_forty_requests() -> None:
    choice = EngineChoice("e", [TrainedCosts(CostModel(record()), A100), HistoryCosts()])
    for number in range(40):
        choice.predict(f"r{number}", IDLE)
        choice.observe(finished(f"r{number}", 2000, 300))
    cost, source = choice.predict("next", IDLE)
    assert cost is not None
    assert (cost.ttft_ms, cost.tpot_ms, source) == (2000, 300, "history")
