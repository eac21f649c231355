"""A simulated engine, the daemon and the console as processes, and some load."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import httpx
import zmq.asyncio

from hmas.console.run import command, environment
from hmas.daemon.links import RequestLink
from hmas.engine.directive import Describe, EngineDescription

T = TypeVar("T")

TOKEN = "browser-test-token-0123"
ENGINE = "sim0"
PROFILE = "a100-qwen3-8b"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def eventually(what: str, look: Callable[[], T | None], timeout_s: float = 60.0) -> T:
    """The first answer that is not None or False; fails with ``what`` after the time."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {timeout_s:.0f} s")


class Stack:
    """Everything on loopback and in one directory; ``close`` ends it all."""

    def __init__(self) -> None:
        # Sockets need short paths: pytest's own directories are too deep.
        self._directory = tempfile.TemporaryDirectory(prefix="hmas-")
        self.home = Path(self._directory.name)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.engine_url = f"http://127.0.0.1:{free_port()}"
        self.admin_url = f"http://127.0.0.1:{free_port()}"
        self.console_url = f"http://127.0.0.1:{free_port()}"

    def start(self) -> None:
        (self.home / "run").mkdir(mode=0o700)
        self._write_settings()
        simulator = ["-m", "hmas.engine.simulator.server", PROFILE, "--engine-id", ENGINE]
        self._spawn("engine", [sys.executable, *simulator, "--port", port_of(self.engine_url)])
        hmas = Path(sys.executable).with_name("hmas")
        self._spawn("daemon", [str(hmas), "daemon", "--config", str(self.home / "hmas.yaml")])
        streamlit = command("127.0.0.1", int(port_of(self.console_url)))
        self._spawn("console", streamlit, environment(self.admin_url, {}))
        self._await_answers()

    def _write_settings(self) -> None:
        (self.home / "hmas.yaml").write_text(
            f"runtime_dir: {self.home}/run\n"
            f"state_dir: {self.home}/state\n"
            f"admin: {{port: {port_of(self.admin_url)}, token: {TOKEN}}}\n"
        )

    def _spawn(
        self, name: str, arguments: list[str], variables: Mapping[str, str] | None = None
    ) -> None:
        log = (self.home / f"{name}.log").open("wb")
        given = {**os.environ, "HMAS_RUNTIME_DIR": f"{self.home}/run", **(variables or {})}
        with log:
            process = subprocess.Popen(
                arguments, stdout=log, stderr=subprocess.STDOUT, env=given, cwd=self.home
            )
        self._processes.append(process)

    def _await_answers(self) -> None:
        for url in (
            f"{self.engine_url}/health",
            f"{self.admin_url}/livez",
            f"{self.console_url}/_stcore/health",
        ):
            eventually(f"{url} answers ({self.logs()})", lambda url=url: answers(url))  # type: ignore[misc]

    def logs(self) -> str:
        """The end of every log, for messages."""
        paths = sorted(self.home.glob("*.log"))
        return "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in paths)

    def engine(self) -> EngineDescription:
        """What the engine itself says it runs, over its own control link."""
        return asyncio.run(self._describe())

    async def _describe(self) -> EngineDescription:
        with zmq.asyncio.Context() as context:
            link = RequestLink(context, f"ipc://{self.home}/run/{ENGINE}.control")
            try:
                reply = await link.ask(Describe())
            finally:
                link.close()
        assert isinstance(reply, EngineDescription)
        return reply

    def close(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._directory.cleanup()


def port_of(url: str) -> str:
    return url.rpartition(":")[2]


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).is_success
    except httpx.TransportError:
        return False


class Load:
    """Streamed chats at a steady rate, until told to stop."""

    def __init__(self, engine_url: str, requests_per_s: float) -> None:
        self._url = f"{engine_url}/v1/chat/completions"
        self._gap_s = 1 / requests_per_s
        self._random = random.Random(1)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    async def _run(self) -> None:
        limits = httpx.Limits(max_connections=300)
        client = httpx.AsyncClient(timeout=60, limits=limits)
        async with client, asyncio.TaskGroup() as chats:
            while not self._stopping.is_set():
                chats.create_task(self._chat(client))
                await asyncio.sleep(self._random.expovariate(1 / self._gap_s))

    async def _chat(self, client: httpx.AsyncClient) -> None:
        words = "word " * int(min(3000, self._random.lognormvariate(6, 1)))
        body = {
            "model": "Qwen/Qwen3-8B",
            "stream": True,
            "max_tokens": max(8, int(self._random.lognormvariate(5.2, 0.7))),
            "messages": [{"role": "user", "content": words}],
        }
        async with client.stream("POST", self._url, json=body) as response:
            async for _ in response.aiter_bytes():
                pass
