"""A real vLLM API server as a test's child process."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.system.vllm.environment import REPOSITORY, vllm_environ, vllm_python

START_TIMEOUT_S = 240
STOP_TIMEOUT_S = 30
MODEL_NAME = "tiny"
SCHEDULER = "hmas.engine.vllm_scheduler.PolymorphicScheduler"


@dataclass(frozen=True)
class VllmServer:
    """A ready server; ``runtime_dir`` holds its control sockets when it runs the plug-in."""

    url: str
    engine_id: str
    runtime_dir: Path
    log: Path
    process: subprocess.Popen[bytes]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def make_model(directory: Path) -> Path:
    """The tiny model, made by the interpreter that has its libraries."""
    program = REPOSITORY / "tests" / "system" / "vllm" / "tiny_model.py"
    subprocess.run(
        [str(vllm_python()), str(program), str(directory)], check=True, env=vllm_environ()
    )
    return directory


@contextmanager
def vllm_server(
    model: Path,
    directory: Path,
    *,
    engine_id: str = "engine0",
    plug_in: bool = True,
    blocks: int = 512,
    max_num_seqs: int = 64,
    arguments: tuple[str, ...] = (),
    environ: dict[str, str] | None = None,
) -> Iterator[VllmServer]:
    """Start, wait until it answers, and stop it. Raises AssertionError with the log's end."""
    directory.mkdir(parents=True, exist_ok=True)
    port, runtime_dir = free_port(), directory / "run"
    command = [str(vllm_python()), "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(model), "--served-model-name", MODEL_NAME]
    command += ["--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--enforce-eager", "--max-model-len", "8192", "--block-size", "32"]
    command += ["--num-gpu-blocks-override", str(blocks), "--max-num-seqs", str(max_num_seqs)]
    if plug_in:
        command += ["--scheduler-cls", SCHEDULER]
    log = directory / "vllm.log"
    settings = {
        "HMAS_RUNTIME_DIR": str(runtime_dir),
        "HMAS_ENGINE_ID": engine_id,
        **(environ or {}),
    }
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [*command, *arguments],
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=vllm_environ(**settings),
            cwd=directory,
            start_new_session=True,
        )
    server = VllmServer(f"http://127.0.0.1:{port}", engine_id, runtime_dir, log, process)
    try:
        _wait_until_healthy(server)
        yield server
    finally:
        _stop(process)


def log_tail(server: VllmServer, characters: int = 6000) -> str:
    return server.log.read_text(errors="replace")[-characters:]


def _wait_until_healthy(server: VllmServer) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s:
        if server.process.poll() is not None:
            raise AssertionError(f"vLLM exited while starting:\n{log_tail(server)}")
        try:
            with urllib.request.urlopen(f"{server.url}/health", timeout=2):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.5)
    raise AssertionError(f"vLLM was not healthy in {START_TIMEOUT_S} s:\n{log_tail(server)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
