"""In stock mode the simulator schedules exactly what vLLM's scheduler schedules."""

from __future__ import annotations

import pytest

from tests.system.vllm.environment import run_program

pytestmark = pytest.mark.vllm

PROGRAM = "tests/system/vllm/simulator_program.py"


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, object]]:
    return run_program(PROGRAM, "1")


@pytest.mark.parametrize(
    "scenario",
    ["tight_memory", "ample_memory", "few_sequences", "prefix_cache", "ample_prefix_cache"],
)
def test_every_step_is_the_same(results: dict[str, dict[str, object]], scenario: str) -> None:
    result = results[scenario]
    assert (result["vllm"], result["simulator"]) == ("", "")
    assert int(str(result["steps"])) > 1000


def test_the_workload_is_worth_comparing(results: dict[str, dict[str, object]]) -> None:
    assert int(str(results["tight_memory"]["preemptions"])) > 50
    assert int(str(results["prefix_cache"]["preemptions"])) > 50
    cached, uncached = (results[name]["tokens"] for name in ("ample_prefix_cache", "ample_memory"))
    assert int(str(cached)) < 0.9 * int(str(uncached))
