import json
import os
from pathlib import Path

import pytest

from hmas.bench.fidelity_published import RUNS, compare_published, compare_run, read_run
from hmas.bench.fidelity_table import LIMIT

DATA = Path(os.environ.get("HMAS_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
EXAMPLES = DATA / "llmservingsim" / "bench" / "examples"


def test_without_the_data_it_says_so(tmp_path):
    told = []
    assert compare_published(tmp_path, told.append) == []
    assert "no published runs" in told[0]


def test_arrivals_are_put_on_the_engines_clock(tmp_path):
    (tmp_path / "vllm").mkdir()
    row = {"input_toks": 10, "output_toks": 5, "scheduled_ts": 0.0}
    rows = [
        {"request_id": "b", "arrival_time": 1002.0, "queued_ts": 7.5, **row},
        {"request_id": "a", "arrival_time": 1000.0, "queued_ts": 5.0, **row},
    ]
    for one in rows:
        one |= {"first_token_ts": one["queued_ts"] + 1, "last_token_ts": one["queued_ts"] + 3}
    path = tmp_path / "vllm" / "requests.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in rows) + "\n")
    requests, timings = read_run(tmp_path)
    assert [(request.name, request.arrival_s) for request in requests] == [("a", 0.0), ("b", 2.0)]
    assert timings["a"].first_s == pytest.approx(1.0)
    assert timings["b"].last_s == pytest.approx(3.5)


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason=f"published runs are not at {EXAMPLES}")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.path)
def test_the_simulator_is_within_the_limit_of_every_published_run(run):
    assert compare_run(run, EXAMPLES).worst <= LIMIT
