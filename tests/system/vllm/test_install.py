"""What ``pip install hmas`` would do to an environment that serves with vLLM: nothing but hmas."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.system.vllm.environment import REPOSITORY, vllm_environ, vllm_python

pytestmark = pytest.mark.vllm


def dry_run(report: Path, *what: str) -> dict[str, Any]:
    """pip's report of ``pip install WHAT``.

    ``--no-index``: a package that would have to be fetched is an error, not a download.
    """
    command = [str(vllm_python()), "-m", "pip", "install", "--dry-run", "--quiet"]
    command += ["--no-index", "--no-build-isolation", "--report", str(report), *what]
    environ = vllm_environ(PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_CONFIG_FILE="/dev/null")
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(report.read_text())
    return result


def would_install(report: dict[str, Any]) -> list[str]:
    return sorted(entry["metadata"]["name"] for entry in report["install"])


def test_installing_hmas_changes_no_other_package(tmp_path: Path) -> None:
    report = dry_run(tmp_path / "report.json", str(REPOSITORY))
    assert would_install(report) == ["hmas"]
    [entry] = report["install"]
    needed = entry["metadata"]["requires_dist"]
    always = [line for line in needed if "extra ==" not in line]
    assert sorted(line.split(">")[0] for line in always) == ["msgspec", "pyzmq"]


def test_the_report_would_show_a_change(tmp_path: Path) -> None:
    """pip says what it would install: an environment that lacks everything gets more than hmas."""
    with pytest.raises(AssertionError, match="No matching distribution found"):
        dry_run(tmp_path / "report.json", "--ignore-installed", str(REPOSITORY))
