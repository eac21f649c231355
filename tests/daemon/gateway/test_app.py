from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest

import hmas
from hmas.bench.scripted_engine import ScriptedEngine
from hmas.controllers.perception.chain import Source
from hmas.controllers.perception.incoming import Incoming, Prompt, TenantDefaults
from hmas.controllers.prediction.history import DEFAULT_OUTPUT_TOKENS
from hmas.daemon.gateway.app import GatewayApp, Surroundings, count_columns
from hmas.daemon.gateway.local import LocalGateway
from hmas.daemon.gateway.settings import EngineTarget, GatewaySettings
from hmas.engine.clock import FakeClock
from hmas.engine.features import TaskType

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]


async def get(url: str) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        is_json = answer.content_type == "application/json"
        return answer.status, await (answer.json() if is_json else answer.text())


async def test_local_routes(engine: ScriptedEngine, start: StartGateway) -> None:
    gateway = await start(engine)
    assert await get(f"{gateway.url}/livez") == (200, {"status": "alive"})
    assert await get(f"{gateway.url}/version") == (200, {"version": hmas.__version__})
    status, ready = await get(f"{gateway.url}/readyz")
    assert (status, ready["engines"]) == (200, {"engine0": True})
    status, text = await get(f"{gateway.url}/metrics")
    assert status == 200
    assert 'hmas_gateway_engine_up{engine="engine0"} 1.0' in text
    assert 'hmas_gateway_in_flight{engine="engine0"} 0.0' in text
    assert not engine.seen


async def test_not_ready_without_an_engine_or_while_draining(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    engine.is_healthy = False
    gateway = await start(engine)
    assert (await get(f"{gateway.url}/readyz"))[0] == 503
    assert (await get(f"{gateway.url}/livez"))[0] == 200
    engine.is_healthy = True
    async with asyncio.timeout(10):
        while (await get(f"{gateway.url}/readyz"))[0] != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await gateway.app.admission.drain(0)
        status, body = await get(f"{gateway.url}/health")
    assert (status, body["status"]) == (503, "draining")


async def test_without_any_engine_clients_get_503_with_the_reason(
    start: StartGateway, openai_for: OpenAIFor
) -> None:
    target = EngineTarget.model_validate({"url": "http://127.0.0.1:9", "models": ["tiny"]})
    client = openai_for(await start(target))
    with pytest.raises(openai.InternalServerError) as raised:
        await client.completions.create(model="tiny", prompt="x")
    assert raised.value.status_code == 503
    assert raised.value.response.headers["x-hmas-dropped-reason"] == "no-engine"
    assert int(raised.value.response.headers["retry-after"]) >= 1


async def test_a_daemon_that_is_not_there_changes_nothing(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor, tmp_path: Any
) -> None:
    client = openai_for(await start(engine, runtime_dir=tmp_path / "nobody", events_flush_s=0.01))
    for _ in range(20):
        await client.completions.create(model="tiny", prompt="x")
    assert len(engine.seen) == 20


async def test_arrival_times_come_from_the_clock(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    gateway = await start(engine, surroundings=Surroundings(clock=FakeClock(1234.5)))
    await openai_for(gateway).completions.create(model="tiny", prompt="x")
    assert engine.seen[0].features is not None
    assert engine.seen[0].features.arrival_s == 1234.5


def test_columns_for_every_engine_and_tenant() -> None:
    keys = [{"key": f"key-number-{n}", "tenant": f"t{n % 2}"} for n in range(3)]
    settings = GatewaySettings.model_validate({"keys": keys})
    assert count_columns(settings) == 1 + 1 + 3


def test_predictions_from_a_configured_step_model() -> None:
    model = {"base_ms": 5, "prefill_ms": 0.1, "context_ms": 0, "sequence_ms": 0}
    settings = GatewaySettings.model_validate({"engines": [{"step_model": model}]})
    assert GatewayApp(settings).perception is not None


def test_a_corrupt_length_model_leaves_history_in_charge(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "length.model"
    path.write_bytes(b"not a model")
    app = GatewayApp(GatewaySettings(length_model=str(path)))
    tagged = app.perception.tag(
        Incoming(request_id="r", arrival_s=0.0, defaults=TenantDefaults(), prompt=Prompt(text="hi"))
    )
    assert tagged.predicted_output_tokens == DEFAULT_OUTPUT_TOKENS
    assert [str(path) in record.getMessage() for record in caplog.records] == [True]


def test_the_shipped_classifier_is_used_where_settings_say_so() -> None:
    assert GatewayApp(GatewaySettings()).learned.classifier is None
    assert GatewayApp(GatewaySettings(classifier="shipped")).learned.classifier is not None


def test_a_damaged_classifier_is_one_warning_and_the_rules_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "task.hmas"
    path.write_bytes(b"no model")
    app = GatewayApp(GatewaySettings(classifier=str(path)))
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(path) in caplog.text
    assert app.perception.tag(silent("Translate this")).task_type is TaskType.TRANSLATION
    assert app.perception.counts == {Source.RULES: 1}


def silent(text: str = "zq xv") -> Incoming:
    prompt = Prompt(text=text, size_bytes=len(text))
    return Incoming(request_id="r", arrival_s=0.0, defaults=TenantDefaults(), prompt=prompt)
