"""A real vLLM API server as a child process: what benchmarks and system tests measure."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parent.parent
PYTHON_VARIABLE: Final = "HMAS_TEST_VLLM_PYTHON"
START_TIMEOUT_S: Final = 240.0
STOP_TIMEOUT_S: Final = 30.0
LOG_CHARACTERS: Final = 6000
MODEL_NAME: Final = "tiny"
SCHEDULER: Final = "hmas.engine.vllm_scheduler.PolymorphicScheduler"
TINY_FLAGS: Final = ("--dtype", "float32", "--enforce-eager", "--max-model-len", "8192")


class VllmError(RuntimeError):
    """No usable vLLM; the message says why, with the end of its log."""


@dataclass(frozen=True)
class VllmServer:
    """A ready server; ``runtime_dir`` holds its control sockets when it runs the plug-in."""

    url: str
    engine_id: str
    runtime_dir: Path
    log: Path
    process: subprocess.Popen[bytes]


def vllm_python() -> Path:
    """Interpreter with vLLM and hmas. Raises :class:`VllmError`, which says how to get one."""
    python = Path(os.environ.get(PYTHON_VARIABLE) or REPOSITORY / ".venv-vllm" / "bin" / "python")
    if not python.exists():
        raise VllmError(f"{python} does not exist: run `make setup-vllm` or set {PYTHON_VARIABLE}")
    return python


def vllm_environ(**extra: str) -> dict[str, str]:
    """Environment of a vLLM process on a small machine without network or GPU."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_NO_USAGE_STATS": "1",
        "PYTHONUNBUFFERED": "1",
        **extra,
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def vllm_server(
    model: Path,
    directory: Path,
    *,
    engine_id: str = "engine0",
    scheduler: str | None = SCHEDULER,
    blocks: int | None = 512,
    max_num_seqs: int | None = 64,
    arguments: Sequence[str] = (),
    flags: Sequence[str] = TINY_FLAGS,
    environ: dict[str, str] | None = None,
    cpus: Sequence[int] = (),
) -> Iterator[VllmServer]:
    """Start, wait until it answers, and stop it.

    Args:
        scheduler: the ``--scheduler-cls``; None: stock vLLM.
        blocks: KV blocks of 32 tokens; None, as with ``max_num_seqs``: vLLM's own choice.
        arguments: more of the command line; ``flags`` replace those for the tiny test model.
        cpus: pin all of its processes to these cores.

    Raises:
        VllmError: it exits, or is not healthy in time.
    """
    directory.mkdir(parents=True, exist_ok=True)
    port, runtime_dir = free_port(), directory / "run"
    command = _command(model, port)
    if blocks is not None:
        command += ["--block-size", "32", "--num-gpu-blocks-override", str(blocks)]
    if max_num_seqs is not None:
        command += ["--max-num-seqs", str(max_num_seqs)]
    command += [*flags, *(("--scheduler-cls", scheduler) if scheduler else ()), *arguments]
    identity = {"HMAS_RUNTIME_DIR": str(runtime_dir), "HMAS_ENGINE_ID": engine_id}
    log = directory / "vllm.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(  # noqa: S603 - our own command line
            command,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=vllm_environ(**identity, **(environ or {})),
            cwd=directory,
            start_new_session=True,
        )
    if cpus:
        os.sched_setaffinity(process.pid, cpus)  # before it starts others: they inherit it
    server = VllmServer(f"http://127.0.0.1:{port}", engine_id, runtime_dir, log, process)
    try:
        _wait_until_healthy(server)
        yield server
    finally:
        _stop(process)


def _command(model: Path, port: int) -> list[str]:
    return [
        *(str(vllm_python()), "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", str(model), "--served-model-name", MODEL_NAME),
        *("--host", "127.0.0.1", "--port", str(port)),
    ]


def log_tail(server: VllmServer) -> str:
    return server.log.read_text(errors="replace")[-LOG_CHARACTERS:]


def _wait_until_healthy(server: VllmServer) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s:
        if server.process.poll() is not None:
            raise VllmError(f"vLLM exited while starting:\n{log_tail(server)}")
        try:
            with urllib.request.urlopen(f"{server.url}/health", timeout=2):  # noqa: S310 - http
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.5)
    raise VllmError(f"vLLM was not healthy in {START_TIMEOUT_S:g} s:\n{log_tail(server)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
