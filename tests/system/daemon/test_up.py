"""``hmas up``: everything comes up, one that dies comes back, nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.system.daemon.stack import HMAS, free_port


class Up:
    """A running ``hmas up --json``, and what it printed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        ports = {name: str(free_port()) for name in ("engine", "gateway", "admin")}
        flags = [text for name, port in ports.items() for text in (f"--{name}-port", port)]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("HMAS_")}
        argv = [*HMAS, "up", "--no-console", "--json", *flags]
        argv += ["--state-dir", f"{home}/state", "--runtime-dir", f"{home}/run"]
        self.process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=inherited
        )
        assert self.process.stdout is not None
        text = ""
        for line in self.process.stdout:
            text += line
            if line == "}\n":
                break
        self.told = json.loads(text or "{}")

    def children(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def end(self, number: signal.Signals) -> str:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=120)
        return errors


@pytest.fixture
def up() -> Iterator[Up]:
    with tempfile.TemporaryDirectory(prefix="hmas-") as directory:
        running = Up(Path(directory))
        yield running
        if running.process.poll() is None:
            running.end(signal.SIGTERM)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_up_serves_and_ends_in_order(up: Up) -> None:
    assert up.told["engine_kind"].startswith("simulator")
    body = {"model": "Qwen/Qwen3-8B", "prompt": "hello", "max_tokens": 3}
    answer = httpx.post(f"{up.told['gateway']}/completions", json=body, timeout=30, trust_env=False)
    assert answer.status_code == 200, answer.text
    token = Path(up.told["token_file"]).read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    status = httpx.get(f"{up.told['admin']}/status", headers=headers, timeout=30, trust_env=False)
    assert status.status_code == 200, status.text
    children = up.children()
    assert len(children) == 3
    errors = up.end(signal.SIGINT)
    assert up.process.returncode == 0
    assert not any(is_alive(pid) for pid in children)
    stopped = [line.partition(":")[0] for line in errors.splitlines() if "stopped" in line]
    assert stopped == ["gateway", "daemon", "engine"]


def test_a_port_in_use_is_said_before_anything_starts(up: Up) -> None:
    port = up.told["engine"].rpartition(":")[2]
    argv = [*HMAS, "up", "--no-console", "--engine-port", port]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert f"engine port: 127.0.0.1:{port} is in use" in done.stderr


def test_wrong_settings_end_it_with_the_log() -> None:
    argv = [
        *HMAS,
        "up",
        "--no-console",
        "--simulate",
        "nonsense",
        "--engine-port",
        str(free_port()),
    ]
    argv += ["--gateway-port", str(free_port()), "--admin-port", str(free_port())]
    with tempfile.TemporaryDirectory(prefix="hmas-") as directory:
        argv += ["--state-dir", f"{directory}/s", "--runtime-dir", f"{directory}/r"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "engine ended with 2" in done.stderr
