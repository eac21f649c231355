"""``run_gateway`` as a process of its own, alone and with several workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest

from hmas.bench.gateway import free_port, part
from hmas.daemon.control.engines import live_sockets
from hmas.daemon.gateway.server import GatewayStartError
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.daemon.gateway.workers import run_gateway
from hmas.daemon.supervise.notify import Notifier

SCRIPT = """
import json, pathlib, sys
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.daemon.gateway.workers import run_gateway
from hmas.daemon.supervise.notify import Notifier

if __name__ == "__main__":
    settings = GatewaySettings.model_validate(json.loads(sys.argv[1]))
    runtime_dir = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    sys.exit(run_gateway(settings, runtime_dir, watcher=Notifier()))
"""


@contextmanager
def gateway(settings: dict[str, object], script: str, *arguments: str) -> Iterator[socket.socket]:
    """The gateway, ready, and what it tells systemd."""
    name = f"\0hmas-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(name)
        systemd.settimeout(20)
        told = {"NOTIFY_SOCKET": f"@{name[1:]}", "WATCHDOG_USEC": "200000"}
        process = subprocess.Popen(
            [sys.executable, script, json.dumps(settings), *arguments],
            env={**os.environ, **told},
        )
        try:
            hear(systemd, "READY=1\nSTATUS=serving")
            yield systemd
        finally:
            process.send_signal(signal.SIGTERM)
            hear(systemd, "STOPPING=1")
            assert process.wait(20) == 0


def hear(systemd: socket.socket, wanted: str) -> None:
    """Wait for a message; only signs of life may come before it."""
    while (heard := systemd.recv(4096).decode()) != wanted:
        assert heard == "WATCHDOG=1"


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def ask(port: int) -> int:
    body = json.dumps({"model": "echo", "prompt": "x", "stream": True}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", body)
    with urllib.request.urlopen(request, timeout=20) as answer:
        answer.read()
        return int(answer.status)


@pytest.fixture
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("gateway") / "run.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_share_the_port_and_a_scrape_sees_them_all(workers: int, script: str) -> None:
    port = free_port()
    with part("echo", None, chunks=3, interval_ms=1) as echo:
        engine = {"url": f"http://127.0.0.1:{echo.port}"}
        settings = {"port": port, "workers": workers, "engines": [engine], "access_log": False}
        with gateway(settings, script) as systemd, ThreadPoolExecutor(8) as pool:
            assert set(pool.map(ask, [port] * 24)) == {200}
            counted = 0.0
            until = monotonic() + 10
            while counted < 24 and monotonic() < until:
                lines = get(port, "/metrics").splitlines()
                outcomes = [line for line in lines if line.startswith("hmas_requests_total{")]
                counted = sum(float(line.rpartition(" ")[2]) for line in outcomes)
                sleep(0.05)
            assert counted == 24
            assert json.loads(get(port, "/readyz"))["status"] == "ready"
            for _ in range(2):
                assert systemd.recv(100) == b"WATCHDOG=1"


def test_every_worker_pumps_its_share_under_an_id_of_its_own(tmp_path: Path, script: str) -> None:
    port, run = free_port(), tmp_path / "run"
    with part("echo", None, chunks=3, interval_ms=1) as echo:
        engine = {"url": f"http://127.0.0.1:{echo.port}", "pump": True}
        settings = {"port": port, "workers": 2, "engines": [engine], "access_log": False}
        with gateway(settings, script, str(run)), ThreadPoolExecutor(8) as pool:
            until = monotonic() + 20
            while len(live_sockets(run)) < 2 and monotonic() < until:
                sleep(0.05)
            assert [link.engine_id for link in live_sockets(run)] == ["engine0-w0", "engine0-w1"]
            assert set(pool.map(ask, [port] * 24)) == {200}


def test_a_pump_needs_an_id_that_can_name_a_file(tmp_path: Path) -> None:
    engine = {"engine_id": "gpu 1", "pump": True}
    settings = GatewaySettings.model_validate({"engines": [engine]})
    with pytest.raises(GatewayStartError, match=r"pump: .*'gpu 1'"):
        run_gateway(settings, tmp_path, watcher=Notifier({}))


def test_unusable_keys_of_the_control_link_are_named_before_anything_starts(
    tmp_path: Path,
) -> None:
    settings = GatewaySettings.model_validate({"curve_dir": str(tmp_path / "none")})
    with pytest.raises(GatewayStartError, match=r"gateway\.curve_dir: .*no public key"):
        run_gateway(settings, tmp_path, watcher=Notifier({}))
