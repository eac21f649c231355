from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmas.bench.scripted_engine import ScriptedEngine
from hmas.daemon.gateway.local import LocalGateway, local_gateway
from hmas.daemon.gateway.settings import GatewaySettings

StartGateway = Callable[..., Awaitable[LocalGateway]]


async def raw(gateway: LocalGateway, request: bytes) -> bytes:
    """The bytes that come back for these bytes."""
    port = int(gateway.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    async with asyncio.timeout(10):
        answer = await reader.read(65536)
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize(
    "request_",
    [
        b"not http at all\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nAuthorization Bearer my-secret-key\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ],
)
async def test_broken_http_is_answered_in_our_form_and_logged_without_its_bytes(
    request_: bytes,
    engine: ScriptedEngine,
    start: StartGateway,
    caplog: pytest.LogCaptureFixture,
) -> None:
    gateway = await start(engine)
    with caplog.at_level(logging.DEBUG):
        answer = await raw(gateway, request_)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))
    assert json.loads(body)["error"]["code"] == "bad_http"
    assert "my-secret-key" not in caplog.text


@pytest.mark.parametrize(
    ("target", "status", "path"),
    [
        (b"http://elsewhere/v1/rerank?a=1", b"200", "/v1/rerank?a=1"),
        (b"/v1/@elsewhere:80/x", b"200", "/v1/@elsewhere:80/x"),
        (b"/v1/a%2Fb?x=%20", b"200", "/v1/a%2Fb?x=%20"),
        (b"//elsewhere/v1/rerank", b"404", None),
        (b"/v1/../sleep", b"404", None),
        (b"/v1/%2e%2e/sleep", b"404", None),
        (b"/v1%2Frerank", b"404", None),
        (b"*", b"404", None),
    ],
)
async def test_the_request_target_cannot_lead_elsewhere(
    target: bytes, status: bytes, path: str | None, engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine)
    answer = await raw(gateway, b"OPTIONS %b HTTP/1.1\r\nHost: h\r\n\r\n" % target)
    assert answer.split(b" ", 2)[1] == status
    assert [seen.path for seen in engine.seen] == ([path] if path else [])


async def test_a_client_that_waits_for_permission_gets_it(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine)
    port = int(gateway.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"model": "tiny", "prompt": "x"}'
    writer.write(
        b"POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    async with asyncio.timeout(10):
        assert (await reader.readline()) == b"HTTP/1.1 100 Continue\r\n"
        assert (await reader.readline()) == b"\r\n"
        writer.write(body)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    writer.close()
    await writer.wait_closed()


async def test_a_body_that_never_comes_is_given_up(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine, body_timeout_s=0.05)
    request = b"POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\n\r\n{"
    assert (await raw(gateway, request)).startswith(b"HTTP/1.1 408")


header_text = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40)
NAMES = [
    "x-slo-ttft-ms", "x-slo-tpot-ms", "x-request-priority", "x-vllm-priority", "x-request-id",
    "x-session-id", "x-hmas-task-type", "x-hmas-importance", "traceparent", "authorization",
    "x-llm-d-inference-fairness-id", "content-type", "accept-encoding", "expect",
]  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
FIELDS = ["model", "messages", "prompt", "stream", "max_tokens", "priority", "metadata",
          "vllm_xargs", "nvext", "tools", "n", "stream_options", "service_tier"]  # fmt: skip


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    headers=st.dictionaries(st.sampled_from(NAMES), header_text),
    fields=st.dictionaries(st.sampled_from(FIELDS), values),
    route=st.sampled_from(["chat/completions", "completions", "embeddings", "rerank", "messages"]),
)
def test_no_headers_and_no_body_make_a_500(
    headers: dict[str, str], fields: dict[str, object], route: str
) -> None:
    async def ask() -> bytes:
        engine = ScriptedEngine()
        async with engine.serving() as url:
            parsed = GatewaySettings.model_validate({"engines": [{"url": url}]})
            async with local_gateway(parsed) as gateway:
                body = json.dumps({"model": "tiny", "messages": [{}], "prompt": "x"} | fields)
                lines = "".join(f"{name}: {value.strip()}\r\n" for name, value in headers.items())
                head = f"POST /v1/{route} HTTP/1.1\r\nHost: h\r\n{lines}"
                head += f"Content-Length: {len(body)}\r\n\r\n"
                return await raw(gateway, head.encode("latin-1") + body.encode())

    status = asyncio.run(ask()).split(b" ", 2)[1]
    assert status in {b"100", b"200", b"400", b"404"}
