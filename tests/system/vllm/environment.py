"""The second Python environment, with a real vLLM, that these tests drive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
PYTHON_VARIABLE = "HMAS_TEST_VLLM_PYTHON"


def vllm_python() -> Path:
    """Interpreter with vLLM and hmas. Raises RuntimeError that says how to get one."""
    python = Path(os.environ.get(PYTHON_VARIABLE) or REPOSITORY / ".venv-vllm" / "bin" / "python")
    if not python.exists():
        raise RuntimeError(
            f"{python} does not exist: run `make setup-vllm` or set {PYTHON_VARIABLE}"
        )
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


def run_program(*arguments: str, timeout_s: float = 600, **environ: str) -> dict[str, Any]:
    """Run a Python program in the vLLM environment; its last output line is its JSON result."""
    done = subprocess.run(
        [str(vllm_python()), *arguments],
        cwd=REPOSITORY,
        env=vllm_environ(HMAS_LINK="off", **environ),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode != 0:
        sys.stdout.write(done.stdout[-4000:])
        raise AssertionError(f"{arguments} exited with {done.returncode}:\n{done.stderr[-8000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result
