"""Preemption by the core's own choice in a real vLLM with a real model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.vllm.environment import run_program

pytestmark = pytest.mark.vllm

PROGRAM = "tests/system/vllm/preemption_program.py"


@pytest.mark.parametrize("mode", ["step", "ahead"])
def test_who_yields_gives_the_same_tokens_as_who_runs_through(tiny_model: Path, mode: str) -> None:
    result = run_program(PROGRAM, str(tiny_model), mode)
    assert result["different"] == []
    assert result["requests"] > 8
    assert result["yields"] > 2, "srtf preempted"
    assert (result["faults"], result["booked"]) == (0, 0)
