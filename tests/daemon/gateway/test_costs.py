"""Who predicts latencies: per engine, by measured error, and visibly so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import openai
import pytest
from msgspec import structs

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.controllers.perception.incoming import Incoming, Prompt, TenantDefaults
from hmas.controllers.prediction.choice import CostChoice
from hmas.controllers.prediction.cost_model import encode_cost_model
from hmas.daemon.gateway.app import GatewayApp, Worker, count_columns
from hmas.daemon.gateway.local import LocalGateway
from hmas.daemon.gateway.settings import EngineTarget, GatewaySettings
from hmas.engine.directive import StepModel
from hmas.engine.simulator.app import ServerOptions, SimulatorServer
from tests.controllers.prediction.cost_support import record
from tests.engine.simulator.support import profile

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]

HARDWARE = {"gpu": "A100", "parameters_b": 7, "layers": 32, "heads": 32, "vocabulary": 32_000}
STEP = {"base_ms": 20, "prefill_ms": 0.1, "context_ms": 0, "sequence_ms": 0.5}
UNTIL_THE_CHOICE_MOVES = 30
"""Streamed requests after which a candidate that is far better is chosen, as documented."""


def app(*engines: dict[str, object], **settings: object) -> GatewayApp:
    targets = [{"engine_id": f"e{number}"} | engine for number, engine in enumerate(engines)]
    return GatewayApp(GatewaySettings.model_validate({"engines": targets} | settings))


def tagged(gateway: GatewayApp, model: str = "m", text: str = "zq xv") -> tuple[str, float]:
    """Who said the latencies of one request, and its TTFT in ms."""
    prompt = Prompt(text=text, size_bytes=len(text))
    incoming = Incoming("r", 0.0, TenantDefaults(), prompt=prompt, model=model)
    prediction = gateway.perception.explain(incoming).prediction
    gateway.costs.ended("r")
    return prediction.latency_source, prediction.ttft_ms


def wrong_model(folder: Path) -> str:
    """It claims a minute to the first token and a second for each further one."""
    claims = (60_000, 1_000, 2_000)
    whole = record()
    trees = {
        name: structs.replace(tree, leaves=np.log([claim, claim]).astype("<f4").tobytes())
        for claim, (name, tree) in zip(claims, whole.trees.items(), strict=True)
    }
    path = folder / "wrong.model"
    path.write_bytes(encode_cost_model(structs.replace(whole, trees=trees)))
    return str(path)


def test_without_hardware_nothing_is_chosen() -> None:
    assert app({}).costs.choices() == []
    assert tagged(app({})) == ("history", 0.0)
    assert tagged(app({"step_model": STEP}))[0] == "analytic"
    assert tagged(app({"step_model": STEP, "hardware": HARDWARE}, cost_model="off")) == tagged(
        app({"step_model": STEP})
    )


def test_with_hardware_the_trained_model_speaks_first() -> None:
    gateway = app({"step_model": STEP, "hardware": HARDWARE})
    source, ttft_ms = tagged(gateway)
    assert source == "trained"
    assert 5 < ttft_ms < 500
    [choice] = gateway.costs.choices()
    assert [one.name for one in choice.candidates] == ["trained", "analytic", "history"]


@pytest.mark.parametrize("content", [None, b"no model"])
def test_without_a_usable_file_the_step_model_speaks_and_one_warning_says_so(
    content: bytes | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "cost.model"
    if content is not None:
        path.write_bytes(content)
    hardware = {"step_model": STEP, "hardware": HARDWARE}
    gateway = app(hardware, hardware, cost_model=str(path))
    assert [str(path) in one.getMessage() for one in caplog.records] == [True]
    assert tagged(gateway)[0] == "analytic"


def test_each_request_is_priced_for_the_engine_that_it_will_go_to() -> None:
    slow = STEP | {"base_ms": 5000}
    gateway = app(
        {"models": ["a"], "hardware": HARDWARE},
        {"models": ["b"], "step_model": slow},
    )
    assert tagged(gateway, "a")[0] == "trained"
    assert tagged(gateway, "b") == ("analytic", pytest.approx(5000, rel=0.01))
    assert tagged(gateway, "nobody serves it")[0] == "history"


def test_what_other_workers_sent_counts() -> None:
    settings = GatewaySettings.model_validate(
        {"workers": 2, "engines": [{"step_model": STEP, "hardware": HARDWARE}], "cost_model": "/no"}
    )
    cells = [0] * (2 * count_columns(settings))
    ours, theirs = (GatewayApp(settings, worker=Worker(n, cells)) for n in range(2))
    source, alone_ms = tagged(ours)
    for _ in range(50):
        theirs.pool.engines[0].take()
    assert source == "analytic"
    assert tagged(ours)[1] > alone_ms


async def stream(client: openai.AsyncOpenAI, tokens: int = 4) -> None:
    answer = await client.completions.create(
        model="small", prompt="a b c", max_tokens=tokens, stream=True
    )
    async for _ in answer:
        pass


def only(gateway: LocalGateway) -> CostChoice:
    [choice] = gateway.app.costs.choices()
    return choice


async def measured(gateway: LocalGateway, requests: int) -> None:
    """A request is counted just after its client has got the last byte."""
    async with asyncio.timeout(10):
        while only(gateway).candidates[0].samples < requests:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def scraped(gateway: LocalGateway, line: str) -> str:
    """The metrics, once they have this line."""
    async with asyncio.timeout(10), aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{gateway.url}/metrics") as answer:
                text = await answer.text()
            if line in text:
                return text
            await asyncio.sleep(0.02)


async def test_a_cost_model_that_is_badly_wrong_is_replaced_by_the_step_model(
    start: StartGateway, openai_for: OpenAIFor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="hmas.gateway.costs")
    times = StepModel(base_ms=10, prefill_ms=0.01, context_ms=0, sequence_ms=0)
    async with SimulatorServer(ServerOptions(profile=profile(times), port=0)) as simulated:
        target = {"url": simulated.url, "step_model": structs.asdict(times), "hardware": HARDWARE}
        gateway = await start(EngineTarget.model_validate(target), cost_model=wrong_model(tmp_path))
        client = openai_for(gateway)
        for _ in range(UNTIL_THE_CHOICE_MOVES - 1):
            await stream(client)
        await measured(gateway, UNTIL_THE_CHOICE_MOVES - 1)
        assert tagged(gateway.app)[0] == "trained"
        await stream(client)
        await measured(gateway, UNTIL_THE_CHOICE_MOVES)
        assert tagged(gateway.app)[0] == "analytic"
        chosen = 'hmas_cost_source_chosen{engine="engine0",source="analytic"} 1.0'
        text = await scraped(gateway, chosen)
    choice = only(gateway)
    errors = {one.name: one.error for one in choice.candidates}
    assert errors["trained"] == 3.0
    assert errors["analytic"] is not None
    assert errors["analytic"] < 1.5
    assert 'hmas_cost_source_chosen{engine="engine0",source="trained"} 0.0' in text
    assert 'hmas_cost_source_error{engine="engine0",source="trained"} 3.0' in text
    assert 'hmas_cost_predictions_total{engine="engine0",source="trained"} 31.0' in text
    assert "engine0 are now from analytic: error" in caplog.text


async def test_only_streams_teach_and_nothing_stays_in_flight(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.models = ("small",)
    engine.default = Behaviour(interval_s=0.001)
    gateway = await start(engine, target={"hardware": HARDWARE})
    client = openai_for(gateway)
    alone: Any = tagged(gateway.app)
    await client.completions.create(model="small", prompt="x")
    engine.script.append(Behaviour(status=400))
    with pytest.raises(openai.BadRequestError):
        await stream(client)
    engine.script.append(Behaviour(hang_up_after=1))
    with pytest.raises(openai.APIError, match="broke off"):
        await stream(client)
    assert [one.samples for one in only(gateway).candidates] == [0, 0, 0]
    await stream(client)
    await measured(gateway, 1)
    assert tagged(gateway.app) == alone
