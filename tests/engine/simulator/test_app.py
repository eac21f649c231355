import asyncio
import contextlib
import threading

import aiohttp
import msgspec
import openai
import pytest

from hmas.engine.directive import Controls, StepModel
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.simulator.app import ServerError, ServerOptions, SimulatorServer
from hmas.engine.simulator.profile import load_profile
from hmas.engine.simulator.pump import Stream
from tests.engine.simulator.support import directive, profile, sim_request

FAST = profile(
    StepModel(base_ms=0.5, prefill_ms=0, context_ms=0, sequence_ms=0),
    max_num_seqs=64, kv_blocks=4096, max_model_len=4096,
)  # fmt: skip
HELLO = [{"role": "user", "content": "hello"}]


class Probe(SimulatorServer):
    """The server itself, which also remembers its events."""

    def __init__(self, options):
        self.events = []
        self.one_ended = asyncio.Event()
        super().__init__(options)

    def _on_event(self, event):
        self.events.append(event)
        if isinstance(event, RequestFinished):
            self.one_ended.set()
        super()._on_event(event)

    @property
    def outcomes(self):
        return [event.outcome for event in self.events if isinstance(event, RequestFinished)]


@contextlib.asynccontextmanager
async def serving(**options):
    async with Probe(ServerOptions(profile=FAST, port=0, **options)) as server:
        yield server


@contextlib.asynccontextmanager
async def client_of(server, key="none"):
    async with openai.AsyncOpenAI(
        base_url=f"{server.url}/v1", api_key=key, max_retries=0
    ) as client:
        yield client


@pytest.fixture
async def server():
    async with serving() as server:
        yield server


@pytest.fixture
async def client(server):
    async with client_of(server) as client:
        yield client


async def test_chat(client):
    answer = await client.chat.completions.create(
        model="small", messages=HELLO, extra_body={"vllm_xargs": {"hmas_output_tokens": 12}}
    )
    assert answer.usage.completion_tokens == 12
    assert answer.choices[0].finish_reason == "stop"
    assert len(answer.choices[0].message.content.split()) == 12


async def test_chat_stream_has_one_chunk_per_token_and_usage(client):
    stream = await client.chat.completions.create(
        model="small",
        messages=HELLO,
        max_tokens=9,
        stream=True,
        stream_options={"include_usage": True},
        extra_body={"ignore_eos": True},
    )
    chunks = [chunk async for chunk in stream]
    assert sum(bool(c.choices and c.choices[0].delta.content) for c in chunks) == 9
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "length"
    assert chunks[-1].usage.completion_tokens == 9


async def test_completion_streamed_and_whole(client):
    arguments = {"model": "small", "prompt": [1, 2, 3], "max_tokens": 4}
    ignore = {"extra_body": {"ignore_eos": True}}
    whole = await client.completions.create(**arguments, **ignore)
    stream = await client.completions.create(**arguments, **ignore, stream=True)
    text = "".join([chunk.choices[0].text async for chunk in stream])
    assert text == whole.choices[0].text
    assert whole.usage.prompt_tokens == 3


async def test_many_concurrent_streams_all_complete(server, client):
    async def one(number):
        stream = await client.chat.completions.create(
            model="small", messages=HELLO, stream=True, max_tokens=1 + number % 20,
            extra_body={"ignore_eos": True},
        )  # fmt: skip
        return sum([bool(c.choices[0].delta.content) async for c in stream if c.choices])

    counts = await asyncio.gather(*[one(number) for number in range(100)])
    assert counts == [1 + number % 20 for number in range(100)]
    assert server.outcomes == [Outcome.COMPLETED] * 100


async def test_models_health_version_metrics(server, client):
    models = await client.models.list()
    assert [model.id for model in models.data] == ["small"]
    async with aiohttp.ClientSession(server.url) as session:
        for path in ("/health", "/version", "/metrics"):
            async with session.get(path) as answer:
                assert answer.status == 200
                text = await answer.text()
    assert "vllm:num_requests_running" in text


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": "other", "messages": HELLO}, 404, "model"),
        ({"model": "small"}, 400, "messages"),
        ({"model": "small", "messages": [{"role": "user", "content": "x" * 40000}]}, 400, "prompt"),
    ],
)
async def test_errors_have_openai_bodies(client, fields, status, param):
    with pytest.raises(openai.APIStatusError) as caught:
        await client.post("/chat/completions", body=fields, cast_to=object)
    assert (caught.value.status_code, caught.value.param) == (status, param)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/chat/completions", b"{", 400),
        ("POST", "/v1/embeddings", b"{}", 404),
        ("GET", "/v1/chat/completions", None, 405),
    ],
)
async def test_unusable_calls_have_openai_bodies(server, method, path, body, status):
    async with (
        aiohttp.ClientSession(server.url) as session,
        session.request(method, path, data=body) as answer,
    ):
        assert answer.status == status
        assert (await answer.json())["error"]["message"]


@pytest.mark.parametrize("is_stream", [True, False])
async def test_client_that_leaves_aborts_its_request(server, client, is_stream):
    request = client.chat.completions.create(
        model="small", messages=HELLO, stream=is_stream, max_tokens=4000,
        extra_body={"ignore_eos": True},
    )  # fmt: skip
    if is_stream:
        stream = await request
        await anext(stream)
        await stream.close()
    else:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(request, 0.1)
    await asyncio.wait_for(server.one_ended.wait(), 5)
    assert server.outcomes == [Outcome.ABORTED]


async def test_api_key_is_asked_for_under_v1_only():
    async with serving(api_key="secret") as server:
        async with client_of(server, "wrong") as client:
            with pytest.raises(openai.AuthenticationError):
                await client.models.list()
        async with client_of(server, "secret") as client:
            assert (await client.models.list()).data
        async with aiohttp.ClientSession(server.url) as session, session.get("/health") as answer:
            assert answer.status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "engine.example"])
def test_open_interfaces_need_an_api_key(host):
    with pytest.raises(ServerError, match="API key"):
        ServerOptions(profile=FAST, host=host)
    assert ServerOptions(profile=FAST, host=host, api_key="secret").host == host


async def test_directive_from_another_thread_holds_from_the_next_step(server, client):
    replies = []
    sent = directive(1, "sjf", controls=Controls(n_run=1))
    thread = threading.Thread(target=lambda: replies.append(server.mailbox.deliver(sent)))
    thread.start()
    thread.join()
    assert replies[0].accepted
    await client.chat.completions.create(model="small", messages=HELLO, max_tokens=3)
    assert {event.topology for event in server.events if hasattr(event, "topology")} == {"sjf"}


async def test_speed_makes_the_engine_faster_and_not_its_lengths():
    async with Probe(
        ServerOptions(profile=load_profile("a100-qwen3-8b"), port=0, speed=100.0)
    ) as server:
        async with client_of(server) as client:
            answer = await client.chat.completions.create(
                model="Qwen/Qwen3-8B", messages=HELLO, max_tokens=50,
                extra_body={"ignore_eos": True},
            )  # fmt: skip
        assert answer.usage.completion_tokens == 50
        (finished,) = [event for event in server.events if isinstance(event, RequestFinished)]
        assert finished.tpot_s < 0.01


async def test_engine_whose_loop_broke_is_not_healthy(caplog):
    async with serving() as server:
        server.engine.add(sim_request("stray", 10, 5), Stream(each_token=False))
        server.engine.begin()
        async with client_of(server) as client, aiohttp.ClientSession(server.url) as session:
            request = client.chat.completions.create(model="small", messages=HELLO, timeout=1)
            with pytest.raises(openai.APITimeoutError):
                await request
            async with session.get("/health") as answer:
                assert answer.status == 503
        assert server.failed.is_set()
    assert "the engine's loop failed" in caplog.text


async def test_stopping_aborts_what_runs():
    async with contextlib.AsyncExitStack() as stack:
        server = Probe(ServerOptions(profile=FAST, port=0, shutdown_timeout_s=0.1))
        async with server:
            session = await stack.enter_async_context(aiohttp.ClientSession(server.url))
            body = msgspec.json.encode(
                {"messages": HELLO, "max_tokens": 4000, "ignore_eos": True, "stream": True}
            )
            answer = await session.post("/v1/chat/completions", data=body)
            assert answer.status == 200
        answer.close()
    assert server.outcomes == [Outcome.ABORTED]
