from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hmas.controllers.compiled import compiled


@compiled
def doubled(values: np.ndarray) -> float:
    total = 0.0
    for value in values:
        total += 2 * value
    return total


def test_it_says_what_python_says() -> None:
    assert doubled(np.array([1.0, 2.5])) == 7.0


def test_it_works_where_no_cache_can_be_kept(tmp_path: Path) -> None:
    """A service's user may write nowhere: then each process compiles."""
    code = (
        "from hmas.controllers.compiled import compiled\n"
        "made = {}\n"
        # code of no file: no place for a cache
        "exec('def plus(a, b):\\n    return a + b', made)\n"
        "print(compiled(made['plus'])(2, 3))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "5\n"


FORBID = """
import ctypes
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0:  # PR_SET_MDWE, what systemd sets
    raise SystemExit(77)
"""


def test_where_memory_may_not_be_executable_rules_and_history_answer() -> None:
    """As under systemd's MemoryDenyWriteExecute=yes."""
    code = FORBID + (
        "from hmas.controllers.perception.shipped import task_classifier\n"
        "from hmas.controllers.prediction.shipped import length_predictor\n"
        "print(task_classifier('shipped'), type(length_predictor('shipped')).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this kernel cannot forbid executable memory (Linux 6.3 can)")
    assert done.stdout == "None HistoryPredictor\n", done.stderr
    assert "MemoryDenyWriteExecute" in done.stderr
