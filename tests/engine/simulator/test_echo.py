import asyncio
import json
import time

import aiohttp
import openai
import pytest

from hmas.engine.simulator.echo import MAX_HEAD_BYTES, MODEL, echo_server

HELLO = [{"role": "user", "content": "hello"}]


async def test_streams_the_stated_number_of_chunks_at_the_stated_pace():
    async with (
        echo_server(chunks=5, interval_s=0.02) as port,
        openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none") as client,
    ):
        started_s = time.perf_counter()
        stream = await client.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
        chunks = [chunk async for chunk in stream]
        assert time.perf_counter() - started_s >= 0.095
    assert sum(bool(c.choices and c.choices[0].delta.content) for c in chunks) == 5
    assert chunks[-1].usage.completion_tokens == 5


async def test_whole_answer_takes_as_long_as_the_stream():
    async with (
        echo_server(chunks=5, interval_s=0.01) as port,
        openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none") as client,
    ):
        started_s = time.perf_counter()
        answer = await client.chat.completions.create(model=MODEL, messages=HELLO)
        assert time.perf_counter() - started_s >= 0.045
    assert answer.usage.completion_tokens == 5


async def test_one_connection_serves_many_requests():
    connector = aiohttp.TCPConnector(limit=1)
    async with (
        echo_server(chunks=3, interval_s=0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}", connector=connector) as session,
    ):
        for path in ("/health", "/v1/models"):
            async with session.get(path) as answer:
                assert answer.status == 200
        async with session.get("/nowhere") as answer:
            assert answer.status == 404
        for _ in range(20):
            body = json.dumps({"stream": True, "messages": HELLO})
            async with session.post("/v1/chat/completions", data=body) as answer:
                assert (await answer.text()).count("data: ") == 3 + 1 + 3


async def test_request_in_pieces_and_two_at_once():
    body = b'{"stream": false}'
    request = b"POST /v1/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    async with echo_server(chunks=1, interval_s=0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in (request[:10], request[10:60], request[60:] + request):
            writer.write(piece)
            await writer.drain()
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
            assert json.loads(await reader.readexactly(length))["usage"]["completion_tokens"] == 1
        writer.close()
        await writer.wait_closed()


async def test_endless_head_is_cut_off():
    async with echo_server(chunks=1, interval_s=0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x" * (MAX_HEAD_BYTES + 1))
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_client_that_leaves_disturbs_nobody():
    body = b'{"stream":true}'
    request = b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    async with echo_server(chunks=50, interval_s=0.005) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        assert b"[DONE]" in await reader.readuntil(b"0\r\n\r\n")
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("options", [{"chunks": 0}, {"interval_s": -1.0}])
async def test_impossible_options_are_refused(options):
    with pytest.raises(ValueError, match="at least 1"):
        async with echo_server(**options):
            pass
