"""Commands that become another program: what they start, and how they refuse to."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon.cli.conftest import Hmas, free_port

HMAS = [sys.executable, "-m", "hmas.daemon.cli.main"]


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HMAS_")}
    own = {"HMAS_RUNTIME_DIR": str(folder / "run"), "HMAS_STATE_DIR": str(folder / "state")}
    return {**kept, **own, **more}


def test_the_gateways_workers_log_as_the_given_file_says(tmp_path: Path) -> None:
    file, name = tmp_path / "hmas.yaml", f"\0hmas-cli-{os.getpid()}"
    port = free_port()
    file.write_text(f"log: {{format: json}}\ngateway: {{port: {port}, workers: 2}}\n")
    environ = environment(tmp_path, NOTIFY_SOCKET=f"@{name[1:]}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(name)
        systemd.settimeout(60)
        command = [*HMAS, "gateway", "--config", str(file)]
        with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
            assert systemd.recv(100) == b"READY=1\nSTATUS=serving"
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    messages = [json.loads(line)["message"] for line in errors.splitlines()]
    listens = f"listens on http://127.0.0.1:{port}"
    assert sum(listens in message for message in messages) == 2


def test_a_taken_port_is_named(hmas: Hmas) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"cannot listen on 127.0.0.1:{port}" in hmas.says(2, "gateway", "--port", port)


def test_a_gateway_reachable_from_outside_needs_keys(hmas: Hmas) -> None:
    assert "add gateway.keys" in hmas.says(2, "gateway", "--host", "0.0.0.0")


@pytest.mark.parametrize("command", ["gateway", "daemon", "console"])
def test_a_port_out_of_range_is_named_before_anything_starts(command: str, hmas: Hmas) -> None:
    section = {"daemon": "admin"}.get(command, command)
    said = hmas.says(2, command, "--port", "70000")
    assert f"{section}.port (flag)" in said
    assert "65535" in said


def test_an_engine_needs_to_know_which(hmas: Hmas) -> None:
    assert "give --simulate PROFILE or --model NAME" in hmas.says(2, "engine")


def test_an_unknown_profile_lists_those_there_are(hmas: Hmas) -> None:
    said = hmas.says(2, "engine", "--simulate", "abacus")
    assert "abacus" in said
    assert "a100-qwen3-8b" in said


def test_a_vllm_that_is_not_there_is_named_with_the_way_out(hmas: Hmas) -> None:
    said = hmas.says(1, "engine", "--model", "tiny", "--vllm", "/nowhere/vllm")
    assert "cannot run /nowhere/vllm: No such file or directory" in said
    assert "--simulate PROFILE" in said


def test_vllm_gets_the_scheduler_and_all_it_is_asked_for(tmp_path: Path) -> None:
    vllm = tmp_path / "vllm"
    vllm.write_text('#!/bin/sh\necho "$@ in $HMAS_RUNTIME_DIR"\n')
    vllm.chmod(0o700)
    command = [*HMAS, "engine", "--model", "tiny", "--vllm", str(vllm), "--max-num-seqs", "64"]
    done = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    scheduler = "--scheduler-cls hmas.engine.vllm_scheduler.PolymorphicScheduler"
    expected = f"serve tiny {scheduler} --max-num-seqs 64 in {tmp_path / 'run'}"
    assert done.stdout.strip() == expected


def test_the_consoles_admin_api_must_be_a_url(hmas: Hmas) -> None:
    assert "write it like http://127.0.0.1:8002" in hmas.says(2, "console", "--url", "gpu1:8002")
