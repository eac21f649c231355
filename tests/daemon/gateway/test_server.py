from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.daemon.gateway.app import GatewayApp
from hmas.daemon.gateway.local import LocalGateway
from hmas.daemon.gateway.server import GatewayStartError, listen, serve
from hmas.daemon.gateway.settings import GatewaySettings

StartGateway = Callable[..., Awaitable[LocalGateway]]


class Told:
    """A watcher that notes what it hears."""

    watchdog_s: float | None = 0.01

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.is_ready = asyncio.Event()

    def ready(self, status: str) -> None:
        self.heard.append(status)
        self.is_ready.set()

    def alive(self) -> None:
        if self.heard[-1] != "alive":
            self.heard.append("alive")

    def stopping(self) -> None:
        self.heard.append("stopping")


def test_a_taken_port_is_named_with_the_fix() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(GatewayStartError, match=rf"127\.0\.0\.1:{port}.*gateway\.port"):
            listen("127.0.0.1", port, shared=False)


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(GatewayStartError, match=r"no-such-host\.invalid"):
        listen("no-such-host.invalid", 0, shared=False)


async def test_sigterm_drains_and_ends(engine: ScriptedEngine) -> None:
    gate, told = asyncio.Event(), Told()
    engine.default = Behaviour(hold=gate)
    async with engine.serving() as url:
        app = GatewayApp(GatewaySettings.model_validate({"engines": [{"url": url}]}))
        listener = listen("127.0.0.1", 0, shared=False)
        base = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/completions"

        async def ask() -> int:
            body = {"model": "tiny", "prompt": "x"}
            async with aiohttp.ClientSession() as session, session.post(base, json=body) as answer:
                await answer.read()
                return answer.status

        async with asyncio.timeout(15), asyncio.TaskGroup() as group:
            serving = group.create_task(serve(app, listener, told))
            await told.is_ready.wait()
            inside = group.create_task(ask())
            await engine.until(lambda e: e.running == 1)
            os.kill(os.getpid(), signal.SIGTERM)
            while not app.admission.is_draining:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert not serving.done()
            gate.set()
    assert inside.result() == 200
    assert serving.result() == 0
    assert told.heard[:3] == ["serving", "alive", "stopping"]
