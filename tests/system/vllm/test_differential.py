"""Without a directive the plug-in schedules exactly what stock vLLM schedules."""

from __future__ import annotations

import pytest

from tests.system.vllm.environment import run_program

pytestmark = pytest.mark.vllm

PROGRAM = "tests/system/vllm/differential_program.py"


@pytest.fixture(scope="module", params=[1, 2])
def results(request: pytest.FixtureRequest) -> dict[str, dict[str, object]]:
    return run_program(PROGRAM, str(request.param))


@pytest.mark.parametrize(
    "scenario",
    [
        "small_kv",
        "no_prefix_cache",
        "long_prefill_cap",
        "asynchronous",
        "priority_policy",
        "swap_and_back",
        "own_queue_in_fcfs",
    ],
)
def test_every_step_is_the_same(results: dict[str, dict[str, object]], scenario: str) -> None:
    result = results[scenario]
    assert result["differences"] == []
    assert result["finished"]
    assert result["requests"] == 600
    assert (result["faults"], result["tracked"], result["booked"]) == (0, 0, 0)
    assert result["asynchronous"] == (scenario == "asynchronous")


def test_the_workload_is_worth_comparing(results: dict[str, dict[str, object]]) -> None:
    small = results["small_kv"]
    assert int(str(small["preemptions"])) > 50
    assert int(str(small["aborted"])) > 20
    assert int(str(small["waiting_most"])) > 100
    assert int(str(results["swap_and_back"]["swaps"])) > 200
