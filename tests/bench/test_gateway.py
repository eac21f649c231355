from __future__ import annotations

import json
import os
import subprocess
import sys

from hmas.bench.gateway import CLIENTS, Measured, Round, quantile, summary, verdict
from hmas.bench.http_load import LoadResult, Timing


def result(*totals_ms: float, failed: int = 0) -> LoadResult:
    timings = [Timing(total / 2000, total / 1000) for total in totals_ms]
    return LoadResult(timings, failed, 1.0)


def test_quantiles() -> None:
    values = [float(number) for number in range(100)]
    assert quantile(values, 0.5) == 50
    assert quantile(values, 0.99) == 99
    assert quantile([7.0], 0.99) == 7


def test_medians_over_rounds() -> None:
    rounds = [Round(result(t, t, failed=1), 0.1) for t in (10.0, 50.0, 20.0)]
    measured = summary("gateway", "open loop", rounds)
    assert (measured.total_p50_ms, measured.first_byte_p50_ms) == (20, 10)
    assert (measured.requests, measured.failed, measured.per_s) == (6, 3, 2)
    assert measured.cpu_ms_per_request == 50


def test_a_target_that_never_answered() -> None:
    measured = summary("gateway", "open loop", [Round(LoadResult(failed=5), 0.0)])
    assert (measured.requests, measured.failed, measured.total_p50_ms) == (0, 5, 0)


def measured(target: str, first_ms: float, total_ms: float) -> Measured:
    scenario = "open loop"
    return Measured(
        target, scenario, 100, 0, 900.0, first_ms, first_ms + 1, total_ms, total_ms + 2, 1.0
    )


def test_whole_answers_and_first_bytes_have_a_verdict_each() -> None:
    direct, bare = measured("direct", 5.0, 100.0), measured("aiohttp", 5.8, 100.4)
    held = verdict([direct, bare, measured("gateway", 6.4, 100.6)])
    assert held["whole_answer_holds"]
    assert not held["first_byte_holds"]
    assert (held["added_first_byte_p50_ms"], held["aiohttp_added_first_byte_p50_ms"]) == (1.4, 0.8)
    assert not verdict([direct, bare, measured("gateway", 5.5, 101.2)])["whole_answer_holds"]


def test_a_short_run_reports_everything() -> None:
    command = [sys.executable, "-m", "hmas.bench.gateway", "--rounds", "1", "--seconds", "0.3"]
    done = subprocess.run(
        [*command, "--interval-ms", "1", "--json"],
        stdout=subprocess.PIPE,
        timeout=120,
        check=False,
        env=os.environ,
    )
    report = json.loads(done.stdout)
    assert report["failed"] == 0
    assert len(report["measured"]) == 3 * (1 + len(CLIENTS))
    assert {"command", "machine", "date", "added_total_p50_ms", "streamed_per_s"} <= set(report)
