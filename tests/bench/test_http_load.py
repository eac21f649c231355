from __future__ import annotations

import asyncio

import pytest

from hmas.bench.gateway import REQUEST
from hmas.bench.http_load import closed_loop, open_loop
from hmas.engine.simulator.echo import echo_server


async def test_closed_loop_measures_what_the_engine_does() -> None:
    async with echo_server(chunks=4, interval_s=0.01) as port:
        result = await closed_loop(port, REQUEST, clients=3, duration_s=0.2)
    assert result.failed == 0
    assert result.per_s > 0
    for timing in result.timings:
        assert 0.01 <= timing.first_byte_s < timing.total_s
        assert timing.total_s >= 0.04


async def test_open_loop_keeps_its_arrivals_although_answers_take_longer() -> None:
    async with echo_server(chunks=5, interval_s=0.02) as port:
        result = await open_loop(port, REQUEST, [number / 100 for number in range(20)])
    assert len(result.timings) == 20
    assert result.span_s < 20 * 0.1


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 200 OK\r\n"]
)
async def test_errors_and_cut_answers_count_as_failed(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        result = await open_loop(port, REQUEST, [0.0, 0.0, 0.0])
    assert (result.failed, result.timings) == (3, [])
