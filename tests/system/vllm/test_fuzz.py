"""Random directives on a real scheduler: nobody lost, duplicated, restarted or starved."""

import pytest

from hmas.engine.topologies import topology_names
from tests.system.vllm.environment import run_program

pytestmark = pytest.mark.vllm

PROGRAM = "tests/system/vllm/fuzz_program.py"
RUNS = 30


def test_no_sequence_of_directives_harms_a_request() -> None:
    totals = run_program(PROGRAM, "0", str(RUNS))
    assert totals["runs"] == RUNS
    assert totals["acked"] > 100 * RUNS, "the directives were worth sending"
    assert totals["refused"] > RUNS
    assert totals["preemptions"] > 10 * RUNS
    assert totals["yielded"] > RUNS, "srtf preempted by its own choice"
    assert all(totals[f"used {name}"] > RUNS for name in topology_names())
