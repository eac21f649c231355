"""Gateway and daemon as a user starts them, in front of one real vLLM."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from hmas.bench.vllm_server import VllmServer, free_port

START_TIMEOUT_S: Final = 90.0
STOP_TIMEOUT_S: Final = 20.0
POLL_S: Final = 0.2
HMAS: Final = Path(sys.executable).with_name("hmas")
LOG_CHARACTERS: Final = 3000


class StackError(RuntimeError):
    """A process of ours did not come up; the message ends with its log."""


@dataclass(frozen=True, slots=True)
class ControlStack:
    """A ready gateway; ``api_key`` is a trusted one, so that tenants may be claimed."""

    gateway_url: str
    api_key: str


@contextmanager
def control_stack(
    server: VllmServer, folder: Path, cpus: Sequence[int], timeout_s: float = START_TIMEOUT_S
) -> Iterator[ControlStack]:
    """``hmas daemon`` and ``hmas gateway`` with one settings file, no LLM.

    Raises:
        StackError: one of them exits, or is not ready in time.
    """
    api_key = f"bench-{secrets.token_hex(8)}"
    gateway_port, admin_port = free_port(), free_port()
    config = folder / "hmas.yaml"
    settings = {
        "runtime_dir": str(server.runtime_dir),
        "state_dir": str(folder / "state"),
        "engines": [{"engine_id": server.engine_id, "url": server.url}],
        "gateway": {
            "port": gateway_port,
            "access_log": False,
            "keys": [{"key": api_key, "tenant": "bench", "trusted": True}],
        },
        "admin": {"port": admin_port},
        "meta": {"primary": "rules"},
    }
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    config.chmod(0o600)
    gateway_url = f"http://127.0.0.1:{gateway_port}"
    with ExitStack() as running:
        running.enter_context(_process("daemon", config, cpus))
        gateway = running.enter_context(_process("gateway", config, cpus))
        _wait_until_ready(f"{gateway_url}/readyz", gateway, folder / "gateway.log", timeout_s)
        yield ControlStack(gateway_url, api_key)


@contextmanager
def _process(name: str, config: Path, cpus: Sequence[int]) -> Iterator[subprocess.Popen[bytes]]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("HMAS_")}
    with (config.parent / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [str(HMAS), name, "--config", str(config)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environ,
        )
    os.sched_setaffinity(process.pid, cpus)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(
    url: str, process: subprocess.Popen[bytes], log: Path, timeout_s: float
) -> None:
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):  # noqa: S310 - http
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(POLL_S)
    tail = log.read_text(errors="replace")[-LOG_CHARACTERS:]
    raise StackError(f"no answer from {url}:\n{tail}")
