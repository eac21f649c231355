"""The gateway as its users see it: through the real OpenAI client, before a fake engine."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import openai
import pytest

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.daemon.gateway.local import LocalGateway
from hmas.engine.features import TaskType

StartGateway = Callable[..., Awaitable[LocalGateway]]
OpenAIFor = Callable[..., openai.AsyncOpenAI]

EMBEDDINGS = b'{"object":"list","data":[{"index":0,"embedding":[1.0]}],"model":"tiny"}'
HELLO: Any = [{"role": "user", "content": "Translate to French: the cat sleeps"}]


async def post(url: str, **options: Any) -> tuple[int, dict[str, Any]]:
    async with aiohttp.ClientSession() as session, session.post(url, **options) as answer:
        return answer.status, await answer.json()


async def test_a_whole_answer(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    client = openai_for(await start(engine))
    answer = await client.chat.completions.with_raw_response.create(
        model="tiny", messages=HELLO, extra_headers={"x-request-id": "mine-1"}
    )
    assert answer.parse().choices[0].message.content == "w0 w1 w2 "
    assert answer.headers["x-request-id"] == "mine-1"
    assert answer.headers["x-hmas-task-type"] == "Translation"
    assert answer.headers["x-hmas-engine"] == "engine0"
    assert float(answer.headers["x-hmas-queue-ms"]) >= 0
    assert "x-hmas-topology" not in answer.headers
    assert engine.seen[0].headers["x-request-id"] == "mine-1"


async def test_a_streamed_answer(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    client = openai_for(await start(engine))
    stream = await client.chat.completions.create(model="tiny", messages=HELLO, stream=True)
    texts = [chunk.choices[0].delta.content async for chunk in stream if chunk.choices]
    assert texts == ["w0 ", "w1 ", "w2 "]


async def test_chunks_pass_at_once(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(chunks=2, silent_after=1)
    client = openai_for(await start(engine))
    stream = await client.chat.completions.create(model="tiny", messages=HELLO, stream=True)
    assert (await anext(stream)).choices[0].delta.content == "w0 "
    await stream.close()


async def test_other_routes(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    client = openai_for(await start(engine))
    answer = await client.completions.create(model="tiny", prompt="Once upon a time")
    assert answer.choices[0].text == "w0 w1 w2 "
    engine.script = deque([Behaviour(body=EMBEDDINGS)] * 2)
    await client.embeddings.create(model="tiny", input="text")
    await client.post("/rerank", body={"model": "tiny", "query": "q"}, cast_to=object)
    assert [seen.path for seen in engine.seen] == [
        "/v1/completions",
        "/v1/embeddings",
        "/v1/rerank",
    ]
    assert engine.seen[0].features is not None
    assert engine.seen[1].features is None
    assert engine.seen[2].json == {"model": "tiny", "query": "q"}


async def test_models_are_listed_with_the_engines_own_cards(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    client = openai_for(await start(engine, ScriptedEngine(models=("other",))))
    models = [model async for model in await client.models.list()]
    assert [model.id for model in models] == ["other", "tiny"]
    assert models[0].to_dict()["max_model_len"] == 2048
    assert (await client.models.retrieve("tiny")).id == "tiny"
    with pytest.raises(openai.NotFoundError, match="models served here: `other`, `tiny`"):
        await client.models.retrieve("gpt")


async def test_requests_go_to_an_engine_that_serves_the_model(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    other = ScriptedEngine(models=("other",))
    client = openai_for(await start(engine, other))
    await client.completions.create(model="other", prompt="x")
    assert (len(engine.seen), len(other.seen)) == (0, 1)


async def test_features_travel_in_vllm_xargs_and_nothing_else_changes(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine)
    body = (
        b'{"model": "tiny", "messages": [{"role": "user", "content": '
        b'"h\\u00e9llo \xf0\x9f\x90\xb1"}]'
        b', "logit_bias": {"7": 1.0e2}, "seed": 12345678901234567890, "x": [1.10, null]} \n'
    )
    headers = {"Content-Type": "application/json", "x-session-id": "job-7", "x-slo-ttft-ms": "900"}
    status, _ = await post(f"{gateway.url}/v1/chat/completions", data=body, headers=headers)
    assert status == 200
    seen = engine.seen[0]
    assert seen.raw.startswith(body.rstrip()[:-1] + b',"vllm_xargs":{"hmas":')
    features = seen.features
    assert features is not None
    assert features.job_id == "job-7"
    assert features.slo_ttft_ms == 900
    assert seen.headers["x-session-id"] == "job-7"


async def test_clients_cannot_speak_for_the_gateway(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    gateway = await start(engine)
    client = openai_for(gateway)
    forged = {"vllm_xargs": {"hmas": '{"tenant":"victim"}', "keep": 1}, "priority": -100}
    headers = {"x-vllm-priority": "-100", "x-gateway-inference-fairness-id": "victim"}
    await client.chat.completions.create(
        model="tiny", messages=HELLO, extra_body=forged, extra_headers=headers
    )
    await client.post("/rerank", body={"model": "tiny", **forged}, cast_to=object)
    chat, passed = engine.seen
    assert chat.features is not None
    assert (chat.features.tenant, chat.features.priority) == ("default", 0)
    assert chat.json["vllm_xargs"]["keep"] == 1
    assert "priority" not in chat.json
    assert not {"x-vllm-priority", "authorization"} & set(chat.headers)
    assert passed.json["vllm_xargs"] == {"keep": 1}


async def test_priority_is_sent_in_vllms_polarity_where_the_engine_wants_it(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    gateway = await start(
        engine, target={"priority_scheduling": True, "api_key": "engine-key"},
        anonymous={"priority": 5},
    )  # fmt: skip
    await openai_for(gateway).completions.create(model="tiny", prompt="x")
    assert engine.seen[0].json["priority"] == -5
    assert engine.seen[0].headers["authorization"] == "Bearer engine-key"


async def test_engines_that_refuse_unknown_fields_get_none(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    gateway = await start(engine, target={"accepts_features": False})
    await openai_for(gateway).completions.create(model="tiny", prompt="x")
    assert engine.seen[0].json == {"model": "tiny", "prompt": "x"}


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        (b"{", None, "not valid JSON"),
        (b"", None, "not valid JSON"),
        (b"[1]", None, "must be a JSON object"),
        (b'{"messages": [1]}', "model", "missing required field `model`"),
        (b'{"model": 7, "messages": [1]}', "model", "field `model`: Expected `str"),
        (b'{"model": "tiny"}', "messages", "missing required field `messages`"),
        (b'{"model": "tiny", "messages": null}', "messages", "missing required field"),
        (b'{"model": "tiny", "messages": "hi"}', "messages", "must be an array"),
        (b'{"model": "tiny", "messages": []}', "messages", "must not be empty"),
        (b'{"model": "tiny", "messages": [1], "max_tokens": "ten"}', "max_tokens", "Expected"),
        (b'{"model": "tiny", "messages": [1], "max_tokens": -1}', "max_tokens", "Expected"),
        (b'{"model": "tiny", "messages": [1], "stream": "yes"}', "stream", "Expected `bool"),
        (b'{"model": "tiny", "messages": [1], "vllm_xargs": 3}', "vllm_xargs", "an object"),
        (b'{"x":' * 100_000, None, "not valid JSON"),
        (b'{"model": "tiny", "messages": [1], "n": 0}', "n", "Expected"),
        (b'\xff\xfe{"model"', None, "not valid JSON"),
    ],
)
async def test_bad_bodies_are_refused_by_field(
    body: bytes, param: str | None, message: str, engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine)
    status, answer = await post(f"{gateway.url}/v1/chat/completions", data=body)
    error = answer["error"]
    assert status == 400
    assert error["param"] == param
    assert message in error["message"]
    assert error["type"] == "invalid_request_error"
    assert not engine.seen


async def test_a_header_out_of_range_is_named(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    client = openai_for(await start(engine))
    with pytest.raises(openai.BadRequestError, match="header `x-slo-ttft-ms` must be") as raised:
        await client.completions.create(
            model="tiny", prompt="x", extra_headers={"x-slo-ttft-ms": "soon"}
        )
    assert raised.value.param == "x-slo-ttft-ms"
    assert raised.value.code == "invalid_header"


async def test_unknown_models_unknown_routes_and_wrong_methods(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    gateway = await start(engine)
    client = openai_for(gateway)
    with pytest.raises(openai.NotFoundError) as raised:
        await client.chat.completions.create(model="gpt-9", messages=HELLO)
    assert raised.value.code == "model_not_found"
    assert raised.value.param == "model"
    assert "models served here: `tiny`" in str(raised.value)
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{gateway.url}/v1/chat/completions") as answer:
            assert (answer.status, answer.headers["Allow"]) == (405, "POST")
            assert (await answer.json())["error"]["code"] == "method_not_allowed"
        async with session.get(f"{gateway.url}/nowhere") as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (404, "unknown_url")
        async with session.delete(f"{gateway.url}/health") as answer:
            assert answer.status == 405


async def test_an_oversized_body_is_refused(engine: ScriptedEngine, start: StartGateway) -> None:
    gateway = await start(engine, max_body_bytes=2048)
    body = b'{"model": "tiny", "prompt": "%s"}' % (b"x" * 5000)
    status, answer = await post(f"{gateway.url}/v1/completions", data=body)
    assert status == 413
    assert "2048 bytes" in answer["error"]["message"]


async def test_a_large_body_passes(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    client = openai_for(await start(engine, max_body_bytes=2**25))
    prompt = "é" * 4_000_000
    await client.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": prompt}]
    )
    seen = engine.seen[0]
    assert seen.json["messages"][0]["content"] == prompt
    assert seen.features is not None
    assert seen.features.prompt_tokens > 1_000_000


async def test_compressed_bodies_are_read_and_broken_ones_refused(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine)
    url = f"{gateway.url}/v1/completions"
    body = json.dumps({"model": "tiny", "prompt": "x"}).encode()
    status, _ = await post(url, data=body, compress="gzip")
    assert status == 200
    status, _ = await post(url, data=body, headers={"Content-Encoding": "gzip"})
    assert status == 400
    assert engine.seen[0].features is not None


async def test_keys_decide_tenant_and_tier(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    keys = [
        {"key": "gold-key-1", "tenant": "gold", "weight": 3, "priority": 7},
        {"key": "trusted-key", "tenant": "router", "trusted": True},
    ]
    gateway = await start(engine, keys=keys)
    await openai_for(gateway, "gold-key-1").completions.create(model="tiny", prompt="x")
    await openai_for(gateway, "trusted-key").completions.create(
        model="tiny",
        prompt="x",
        extra_headers={"x-llm-d-inference-fairness-id": "acme", "x-request-priority": "9"},
    )
    first, second = (seen.features for seen in engine.seen)
    assert first is not None
    assert second is not None
    assert (first.tenant, first.tenant_weight, first.priority) == ("gold", 3, 7)
    assert (second.tenant, second.priority) == ("acme", 9)
    with pytest.raises(openai.AuthenticationError) as raised:
        await openai_for(gateway, "who-is-this").completions.create(model="tiny", prompt="x")
    assert raised.value.code == "invalid_api_key"
    assert "who-is-this" not in str(raised.value)
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{gateway.url}/v1/models") as answer:
            assert answer.status == 401
            assert (await answer.json())["error"]["code"] == "missing_api_key"
        async with session.get(f"{gateway.url}/health") as answer:
            assert answer.status == 200


async def test_a_client_that_leaves_aborts_its_request_in_the_engine(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(chunks=1000, interval_s=0.01)
    gateway = await start(engine)
    client = openai_for(gateway)
    stream = await client.chat.completions.create(model="tiny", messages=HELLO, stream=True)
    async for _ in stream:
        break
    await stream.close()
    async with asyncio.timeout(5):
        await engine.until(lambda e: e.aborted == 1 and e.running == 0)


async def test_a_client_that_leaves_before_the_first_byte_aborts_too(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    engine.default = Behaviour(hold=asyncio.Event())
    gateway = await start(engine)
    asking = asyncio.ensure_future(  # noqa: TID251  the client's side of the test
        openai_for(gateway).chat.completions.create(model="tiny", messages=HELLO)
    )
    async with asyncio.timeout(5):
        await engine.until(lambda e: e.running == 1)
        asking.cancel()
        await engine.until(lambda e: e.aborted == 1 and e.running == 0)
    assert gateway.app.admission.inside == 0


@pytest.mark.parametrize("given", ["x" * 129, "café", ""])
async def test_strange_request_ids_are_replaced(
    given: str, engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine)
    body = {"model": "tiny", "prompt": "x"}
    headers = {"x-request-id": given}
    status, _ = await post(f"{gateway.url}/v1/completions", json=body, headers=headers)
    assert status == 200
    assert len(engine.seen[0].headers["x-request-id"]) == 32


async def test_engine_cookies_are_not_shared_between_clients(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    client = openai_for(await start(engine))
    for _ in range(2):
        await client.completions.create(model="tiny", prompt="x")
    assert all("cookie" not in seen.headers for seen in engine.seen)


async def test_tool_schemas_and_unicode_reach_the_engine(
    engine: ScriptedEngine, start: StartGateway, openai_for: OpenAIFor
) -> None:
    client = openai_for(await start(engine))
    tool: Any = {
        "type": "function",
        "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
    }
    messages: Any = [{"role": "user", "content": [{"type": "text", "text": "天気 👋 naïve"}]}]
    await client.chat.completions.create(model="tiny", messages=messages, tools=[tool])
    seen = engine.seen[0]
    assert seen.json["messages"] == messages
    assert seen.features is not None
    assert seen.features.task_type is TaskType.INSTRUCTION_FOLLOWING
