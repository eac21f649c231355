"""The processes that ``make bench-gateway`` measures, each pinned to a core.

``python -m hmas.bench.gateway_parts gateway|passthrough|echo --core N --port P ...``
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import uvloop
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

from hmas.daemon.gateway.app import GatewayApp
from hmas.daemon.gateway.server import run_worker
from hmas.daemon.gateway.settings import EngineTarget, GatewaySettings
from hmas.daemon.supervise.notify import Notifier
from hmas.engine.simulator.echo import echo_server

HOP_BY_HOP: Final = frozenset({"transfer-encoding", "connection", "content-length", "host"})


def serve_gateway(
    port: int, engine_port: int, runtime_dir: Path | None, classifier: str, length_model: str
) -> None:
    """The gateway as shipped, one worker, without its access log."""
    settings = GatewaySettings(
        port=port,
        engines=(EngineTarget.model_validate({"url": f"http://127.0.0.1:{engine_port}"}),),
        access_log=False,
        classifier=classifier,
        length_model=length_model,
    )
    run_worker(lambda: GatewayApp(settings, runtime_dir), settings, Notifier())


async def serve_passthrough(port: int, engine_port: int) -> None:
    """What aiohttp alone costs: no key, no tag, no choice, no retry, no event."""
    session = ClientSession(
        connector=TCPConnector(limit=0), timeout=ClientTimeout(total=None), auto_decompress=False
    )
    base = f"http://127.0.0.1:{engine_port}"

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        async with session.request(
            request.method,
            base + request.raw_path,
            data=body,
            headers={"Content-Type": request.content_type},
        ) as upstream:
            headers = {k: v for k, v in upstream.headers.items() if k.lower() not in HOP_BY_HOP}
            response = web.StreamResponse(status=upstream.status, headers=headers)
            await response.prepare(request)
            while chunk := await upstream.content.readany():
                await response.write(chunk)
            await response.write_eof()
            return response

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    gc.freeze()
    await asyncio.Event().wait()


async def serve_echo(port: int, chunks: int, interval_s: float) -> None:
    async with echo_server(chunks=chunks, interval_s=interval_s, port=port):
        await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("gateway", "passthrough", "echo"))
    parser.add_argument("--core", type=int)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--engine-port", type=int, default=0)
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--interval-ms", type=float, default=5.0)
    parser.add_argument("--runtime-dir", type=Path)
    parser.add_argument("--classifier", default="off")
    parser.add_argument("--length-model", default="off")
    given = parser.parse_args(arguments)
    if given.core is not None:
        os.sched_setaffinity(0, {given.core})
    if given.part == "gateway":
        serve_gateway(
            given.port, given.engine_port, given.runtime_dir, given.classifier, given.length_model
        )
        return
    serving = (
        serve_passthrough(given.port, given.engine_port)
        if given.part == "passthrough"
        else serve_echo(given.port, given.chunks, given.interval_ms / 1000)
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serving)


if __name__ == "__main__":
    main()
