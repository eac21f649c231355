"""Gateway and daemon as processes around a real vLLM, and the command line that steers them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
import zmq

from hmas.bench.vllm_server import MODEL_NAME, VllmServer, free_port
from hmas.engine.directive import Describe, EngineDescription
from hmas.engine.link.config import LinkConfig
from hmas.engine.link.sockets import connect_private
from hmas.engine.wire import decode_reply, encode

T = TypeVar("T")

TOKEN = "real-vllm-test-token-0123"
HMAS = Path(sys.executable).with_name("hmas")
LEASE_S = 5.0


def eventually(what: str, look: Callable[[], T | None], timeout_s: float = 60.0) -> T:
    """The first answer that is neither None nor False. Fails with ``what`` after the time."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {timeout_s:.0f} s")


def describe(server: VllmServer) -> EngineDescription:
    """What the engine itself says it runs, asked over its own control socket."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        socket = context.socket(zmq.REQ)
        endpoint = LinkConfig.local(server.engine_id, server.runtime_dir).control_endpoint
        connect_private(socket, endpoint, None)
        socket.send(encode(Describe()))
        assert socket.poll(10_000), "the engine does not answer"
        reply = decode_reply(socket.recv())
    finally:
        context.destroy(linger=0)
    assert isinstance(reply, EngineDescription)
    return reply


@dataclass
class ControlPlane:
    """One gateway and one daemon with settings for ``server``, in ``directory``.

    ``engine`` is added to the settings of the engine.
    """

    server: VllmServer
    directory: Path
    engine: dict[str, Any] = field(default_factory=dict)
    gateway_url: str = field(default_factory=lambda: f"http://127.0.0.1:{free_port()}")
    admin_url: str = field(default_factory=lambda: f"http://127.0.0.1:{free_port()}")
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def settings(self) -> Path:
        return self.directory / "hmas.yaml"

    def start(self) -> None:
        self._write_settings()
        self.start_program("daemon")
        self.start_program("gateway")
        self._await(f"{self.gateway_url}/readyz", "gateway")

    def start_program(self, name: str) -> None:
        with (self.directory / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [str(HMAS), name, "--config", str(self.settings)],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={key: value for key, value in os.environ.items() if "HMAS_" not in key},
            )
        if name == "daemon":
            self._await(f"{self.admin_url}/hmas/v1/health", name)

    def kill(self, name: str) -> None:
        """SIGKILL: no chance to say good-bye."""
        self._processes[name].kill()
        self._processes.pop(name).wait()

    def close(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self, name: str, characters: int = 4000) -> str:
        return (self.directory / f"{name}.log").read_text(errors="replace")[-characters:]

    def hmas(self, *arguments: str) -> Any:
        """Run the command line; returns what it prints as JSON."""
        done = subprocess.run(
            [str(HMAS), *arguments, "--config", str(self.settings), "--json"],
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )
        told = f"hmas {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, f"{told}\n{self.log('daemon')}"
        return json.loads(done.stdout)

    def _await(self, url: str, name: str) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}

        def answers() -> bool:
            code = self._processes[name].poll()
            assert code is None, f"{name} exited with {code}:\n{self.log(name)}"
            try:
                return httpx.get(url, timeout=2, headers=headers).status_code == 200
            except httpx.HTTPError:
                return False

        eventually(f"{name} answers at {url}", answers)

    def _write_settings(self) -> None:
        (self.directory / "state").mkdir(parents=True, exist_ok=True)
        port = {name: url.rpartition(":")[2] for name, url in vars(self).items() if "url" in name}
        settings = {
            "runtime_dir": str(self.server.runtime_dir),
            "state_dir": str(self.directory / "state"),
            "engines": [
                {"engine_id": self.server.engine_id, "url": self.server.url, **self.engine}
            ],
            "gateway": {"port": int(port["gateway_url"])},
            "admin": {"port": int(port["admin_url"]), "token": TOKEN},
            "control": {
                "ttl_s": LEASE_S,
                "meta_s": 10.0,
                "first_meta_s": 10.0,
                "rollback": {"window_s": 5.0, "max_window_s": 5.0, "cool_down_s": 1.0},
            },
            "meta": {
                "primary": "llm",
                "llm": {
                    "base_url": f"{self.server.url}/v1",
                    "model": MODEL_NAME,
                    "timeout_s": 60.0,
                    "temperature": 1.0,
                    "calls_per_hour": 1000,
                },
            },
        }
        self.settings.write_text(json.dumps(settings))
