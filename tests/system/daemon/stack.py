"""Engine, gateway and daemon as processes of their own, and a load that counts its failures."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import zmq.asyncio

from hmas.daemon.links import RequestLink, UnreachableError
from hmas.daemon.tasks import Tasks
from hmas.engine.directive import Describe, EngineDescription
from hmas.storage.sql import SqlStore
from tests.daemon.control.support import until

HMAS = [sys.executable, "-m", "hmas.daemon.cli.main"]
PROFILE = "a100-qwen3-8b"
MODEL = "Qwen/Qwen3-8B"
TOKEN = "system-test-token-0123456789"
STARTS_IN_S = 90.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


class Stack:
    """Everything in one directory and on loopback."""

    def __init__(self, home: Path, **environ: str) -> None:
        self.home = home
        self.engine_url = f"http://127.0.0.1:{free_port()}"
        self.gateway_url = f"http://127.0.0.1:{free_port()}"
        self.admin_url = f"http://127.0.0.1:{free_port()}"
        self.database = f"sqlite:///{home}/state/hmas.db"
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("HMAS_")}
        self._environ = inherited | {
            "HMAS_RUNTIME_DIR": f"{home}/run",
            "HMAS_STATE_DIR": f"{home}/state",
            "HMAS_ENGINES": json.dumps([{"engine_id": "engine0", "url": self.engine_url}]),
            "HMAS_GATEWAY__PORT": self.gateway_url.rpartition(":")[2],
            "HMAS_ADMIN__PORT": self.admin_url.rpartition(":")[2],
            "HMAS_ADMIN__TOKEN": TOKEN,
            "HMAS_DAEMON__RESUME_EVERY_S": "0.5",
            **environ,
        }

    async def start_engine(self) -> None:
        port = self.engine_url.rpartition(":")[2]
        await self._spawn("engine", "engine", "--simulate", PROFILE, "--port", port)
        await self._answering(f"{self.engine_url}/health")

    async def start_gateway(self) -> None:
        await self._spawn("gateway", "gateway")
        await self._answering(f"{self.gateway_url}/readyz")

    async def start_daemon(self) -> None:
        await self._spawn("daemon", "daemon")
        await self._answering(f"{self.admin_url}/livez")

    async def _spawn(self, name: str, *arguments: str) -> None:
        with (self.home / f"{name}.log").open("ab") as log:
            self._processes[name] = await asyncio.create_subprocess_exec(
                *HMAS, *arguments, stdout=log, stderr=log, env=self._environ, cwd=self.home
            )

    async def _answering(self, url: str) -> None:
        async with httpx.AsyncClient(timeout=5, trust_env=False) as client:

            async def answers() -> bool:
                with suppress(httpx.TransportError):
                    return (await client.get(url)).is_success
                return False

            await until(answers, f"{url} answers", STARTS_IN_S)

    async def kill(self, name: str) -> None:
        """As the kernel does when memory runs out: no goodbye."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGKILL)
        await process.wait()

    async def close(self) -> None:
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        for process in self._processes.values():
            await process.wait()

    async def engine(self) -> EngineDescription:
        """What the engine itself says it runs, over its own control link."""
        with zmq.asyncio.Context() as context:
            link = RequestLink(context, f"ipc://{self.home}/run/engine0.control", timeout_s=10.0)
            try:
                reply = await link.ask(Describe())
            except UnreachableError as error:
                raise AssertionError(str(error)) from error
            finally:
                link.close()
        assert isinstance(reply, EngineDescription)
        return reply

    async def admin(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
            url = f"{self.admin_url}/hmas/v1{path}"
            response = await client.request(method, url, json=body, headers=headers)
        assert response.is_success, response.text
        return response.json()

    def errors_by_bucket(self) -> dict[int, list[float]]:
        """D_b as it is stored."""
        store = SqlStore(self.database)
        try:
            return {row.bucket: row.errors for row in store.calibration("engine0")}
        finally:
            store.close()


class Load:
    """Clients that stream completions one after the other until told to stop."""

    def __init__(self, url: str, clients: int) -> None:
        self._url = f"{url}/v1/completions"
        self._clients = clients
        self._stopping = False
        self.outcomes: Counter[str] = Counter()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Load]:
        tasks = Tasks()
        async with aiohttp.ClientSession() as session:
            clients = [
                tasks.start(self._client(session, number), name=f"client {number}")
                for number in range(self._clients)
            ]
            try:
                yield self
            finally:
                self._stopping = True
                await asyncio.wait(clients, timeout=60)
                await tasks.close()

    async def _client(self, session: aiohttp.ClientSession, number: int) -> None:
        while not self._stopping:
            body = {
                "model": MODEL,
                "prompt": f"client {number} " * 20,
                "max_tokens": 16 + 4 * number,
                "stream": True,
            }
            try:
                async with session.post(self._url, json=body) as response:
                    text = await response.text()
                whole = response.status == 200 and text.rstrip().endswith("data: [DONE]")
                self.outcomes["whole" if whole else f"{response.status}: {text[-200:]}"] += 1
            except aiohttp.ClientError as error:
                self.outcomes[repr(error)] += 1

    @property
    def whole(self) -> int:
        return self.outcomes["whole"]

    @property
    def failures(self) -> dict[str, int]:
        return {what: count for what, count in self.outcomes.items() if what != "whole"}


@asynccontextmanager
async def stack(**environ: str) -> AsyncIterator[Stack]:
    """In a short path of its own: socket paths have a limit."""
    with tempfile.TemporaryDirectory(prefix="hmas-") as directory:
        running = Stack(Path(directory), **environ)
        try:
            yield running
        finally:
            await running.close()
