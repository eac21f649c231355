"""The second Python environment, with a real vLLM, that these tests drive."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from hmas.bench.vllm_server import REPOSITORY, vllm_environ, vllm_python


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
