"""The tiny model that these tests serve."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hmas.bench.vllm_server import REPOSITORY, vllm_environ, vllm_python


def make_model(directory: Path) -> Path:
    """The tiny model, made by the interpreter that has its libraries."""
    program = REPOSITORY / "tests" / "system" / "vllm" / "tiny_model.py"
    subprocess.run(
        [str(vllm_python()), str(program), str(directory)], check=True, env=vllm_environ()
    )
    return directory
