"""``hmas up`` refuses what cannot work, and runs, tells and stops what can."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx

from tests.daemon.cli.conftest import Hmas, free_port
from tests.daemon.cli.test_processes import environment

HMAS = [sys.executable, "-m", "hmas.daemon.cli.main"]


def test_taken_ports_are_all_named_before_anything_starts(hmas: Hmas) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        ports = [str(taken.getsockname()[1]) for taken in (first, second)]
        said = hmas.says(1, "up", "--gateway-port", ports[0], "--engine-port", ports[1])
    assert f"gateway.port: 127.0.0.1:{ports[0]} is in use" in said
    assert f"engine port: 127.0.0.1:{ports[1]} is in use" in said
    assert "choose other ports" in said
    assert not (hmas.folder / "state").exists()


def test_a_wrong_port_is_named(hmas: Hmas) -> None:
    assert "--gateway-port" in hmas.says(2, "up", "--gateway-port", "0")


def test_a_part_that_dies_at_the_start_ends_it_with_its_last_words(tmp_path: Path) -> None:
    ports = [f"--{name}-port={free_port()}" for name in ("engine", "gateway", "admin")]
    command = [*HMAS, "up", "--simulate", "abacus", "--no-console", *ports]
    done = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "abacus" in done.stderr
    assert "Traceback" not in done.stderr


def test_everything_starts_is_announced_and_stops(tmp_path: Path) -> None:
    ports = {name: free_port() for name in ("engine", "gateway", "admin")}
    options = [f"--{name}-port={port}" for name, port in ports.items()]
    errors = tmp_path / "errors.txt"
    with (
        errors.open("w") as log,
        subprocess.Popen(
            [*HMAS, "up", "--no-console", "--json", *options],
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        text = ""
        while (line := process.stdout.readline()) and line != "}\n":
            text += line
        assert line, errors.read_text()
        found = json.loads(text + line)
        assert found["engine_kind"] == "simulator a100-qwen3-8b"
        assert found["gateway"] == f"http://127.0.0.1:{ports['gateway']}/v1"
        assert httpx.get(f"{found['engine']}/health", timeout=10).status_code == 200
        assert Path(found["token_file"]).stat().st_mode & 0o777 == 0o600
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, errors.read_text()
    for port in ports.values():
        socket.create_server(("127.0.0.1", port)).close()
