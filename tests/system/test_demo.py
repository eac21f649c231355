"""``make demo`` end to end: real processes, real HTTP, the simulated engine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

SHORT = ["--duration", "6", "--rps", "7", "--seed", "4"]
DEMO = [sys.executable, "-m", "hmas.bench.demo"]


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HMAS_")}
    return {**kept, "HOME": str(folder), "COLUMNS": "120"}


def test_demo_compares_two_runs_stays_and_leaves_nothing_behind(tmp_path: Path) -> None:
    errors = tmp_path / "stderr.txt"
    with (
        errors.open("w") as log,
        subprocess.Popen(
            [*DEMO, *SHORT, "--json", "--stay"],
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, errors.read_text()
            found = json.loads(line)
            with urlopen(f"{found['console']}/_stcore/health", timeout=10) as answer:
                assert answer.status == 200
            check_invitation(errors)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 0, errors.read_text()
        finally:
            process.kill()
    check_comparison(found)
    assert "H-MAS:" in errors.read_text()
    with pytest.raises(OSError, match="refused"):
        urlopen(found["console"], timeout=5)


def check_invitation(errors: Path) -> None:
    """What a newcomer is told to type works as printed."""
    deadline = time.monotonic() + 10
    while not (told := re.search(r"hmas (status --config \S+)", errors.read_text())):
        assert time.monotonic() < deadline, errors.read_text()
        time.sleep(0.05)
    command = [Path(sys.executable).with_name("hmas"), *told[1].split()]
    status = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert status.returncode == 0, status.stderr
    assert "topology" in status.stdout
    token_file = re.search(r"token in\s+(\S+)", errors.read_text())
    assert token_file is not None
    assert Path(token_file[1]).read_text().strip()


def check_comparison(found: dict[str, Any]) -> None:
    fcfs, hmas = found["runs"]["fcfs"], found["runs"]["hmas"]
    assert fcfs["requests"] == hmas["requests"] == 42
    assert fcfs["lost"] == hmas["lost"] == 0
    assert fcfs["topologies"] == ["fcfs"]
    assert hmas["swaps"] >= 1
    assert hmas["tpot_compliance"] >= fcfs["tpot_compliance"]
