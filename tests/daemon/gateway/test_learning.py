"""Predicted beside actual on ``/metrics``, and the duel of two length models."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import openai
import pytest

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.controllers.perception.accuracy import TaskScores
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.length_model import LengthModel, encode_model
from hmas.daemon.gateway.learning import GAUGES, Learning
from hmas.daemon.gateway.local import LocalGateway
from hmas.daemon.gateway.metrics import GatewayMetrics
from tests.controllers.prediction.length_support import off_model, small_file, small_model
from tests.controllers.prediction.test_length_duel import run

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]


def shown(metrics: GatewayMetrics) -> dict[str, float]:
    """What the gateway's own samples say, by name and labels."""
    lines = (line for line in metrics.scrape().decode().splitlines() if line[0] != "#")
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def duel(
    champion: LengthModel, challenger: LengthModel | None
) -> tuple[LengthPredictor, Learning, GatewayMetrics]:
    lengths, metrics = LengthPredictor(champion, challenger=challenger), GatewayMetrics()
    return lengths, Learning(metrics, lengths, TaskScores()), metrics


async def test_predicted_and_actual_side_by_side(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor, tmp_path: Path
) -> None:
    path = tmp_path / "own.model"
    path.write_bytes(small_file())
    engine.default = Behaviour(chunks=5, interval_s=0.01)
    step_model = {"base_ms": 5, "prefill_ms": 0.1, "context_ms": 0, "sequence_ms": 0}
    gateway = await start(engine, length_model=str(path), target={"step_model": step_model})
    client = openai_for(gateway)
    for _ in range(3):
        stream = await client.completions.create(
            model="tiny", prompt="please list topic3", stream=True
        )
        async for _ in stream:
            pass
    await client.completions.create(model="tiny", prompt="please list topic3")
    await gateway.app.admission.drain(5)
    gateway.app.learning.sync()
    found = shown(gateway.app.metrics)
    actual = {name: value for name, value in found.items() if "actual_output_tokens_total" in name}
    predicted = {n: v for n, v in found.items() if "predicted_output_tokens_total" in n}
    assert sum(actual.values()) == 4 * 5
    assert sum(predicted.values()) > 0
    assert len(actual) == len(predicted)
    assert found['hmas_gateway_predictions_total{quantity="ttft",source="analytic"}'] == 3
    assert found['hmas_gateway_predicted_ttft_seconds_total{source="analytic"}'] > 0
    assert found['hmas_gateway_actual_tpot_seconds_total{source="analytic"}'] > 0
    assert found['hmas_gateway_prediction_window_requests{quantity="length"}'] == 4
    assert found["hmas_gateway_length_mae_tokens"] > 0
    assert "hmas_gateway_length_coverage_ratio" not in found, "no answer had a bound yet"
    info = 'length_model_info{data_hash="%s",role="champion",version="1"}'
    assert found["hmas_gateway_" + info % small_model().record.data_hash] == 1


async def test_what_was_not_counted_by_the_engine_is_no_truth(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(usage=False)
    gateway = await start(engine)
    await openai_for(gateway).completions.create(model="tiny", prompt="x")
    await gateway.app.admission.drain(5)
    assert gateway.app.learning.scores.accuracy.lengths() is None


async def test_the_health_round_brings_them_to_the_metrics(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    gateway = await start(engine)
    await openai_for(gateway).completions.create(model="tiny", prompt="x")
    async with asyncio.timeout(10):
        while "hmas_gateway_length_mae_tokens" not in shown(gateway.app.metrics):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert not [name for name in shown(gateway.app.metrics) if "length_model_info" in name]


def test_roles_change_places_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    lengths, learning, metrics = duel(off_model(1.0), small_model())
    learning.sync()
    champion = 'hmas_gateway_length_model_info{data_hash="%s",role="champion",version="off"}'
    champion %= small_model().record.data_hash
    assert shown(metrics)[champion] == 1
    run(lengths, 1000)
    with caplog.at_level(logging.WARNING):
        learning.sync()
        learning.sync()
    found = shown(metrics)
    assert found[champion] == 0
    assert found[champion.replace('"off"', '"1"')] == 1
    assert found['hmas_gateway_length_challenger_info{standing="shadow"}'] == 0
    assert found['hmas_gateway_length_challenger_info{standing="promoted"}'] == 1
    assert found["hmas_gateway_length_promotions_total"] == 1
    assert found["hmas_gateway_length_rollbacks_total"] == 0
    assert found["hmas_gateway_length_drift"] == 0
    losses = [
        found[f'hmas_gateway_length_loss{{role="{role}"}}'] for role in ("champion", "shadow")
    ]
    assert losses[0] < losses[1]
    assert ["promoted" in record.getMessage() for record in caplog.records] == [True]


def test_without_a_challenger_its_loss_is_not_shown() -> None:
    lengths, learning, metrics = duel(small_model(), None)
    run(lengths, 100)
    learning.sync()
    found = shown(metrics)
    assert found['hmas_gateway_length_challenger_info{standing="absent"}'] == 1
    assert not [name for name in found if 'role="shadow"' in name]


async def test_the_gateway_reads_the_challenger_of_the_settings(
    engine: ScriptedEngine, start: StartGateway, tmp_path: Path
) -> None:
    path = tmp_path / "new.model"
    path.write_bytes(encode_model(off_model(0.3).record))
    gateway = await start(engine, length_model="shipped", length_challenger=str(path))
    gateway.app.learning.sync()
    named = [name for name in shown(gateway.app.metrics) if "length_model_info" in name]
    assert sorted(name.count('role="shadow",version="off"') for name in named) == [0, 1]


def test_every_gauge_has_a_word_of_help() -> None:
    assert all(shown.text.endswith(".") for shown in GAUGES.values())
