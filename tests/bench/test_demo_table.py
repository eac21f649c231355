from __future__ import annotations

import json

from rich.console import Console

from hmas.bench.demo_run import DemoControl, DemoResult
from hmas.bench.demo_table import Origin, comparison, to_json
from hmas.bench.live import LiveReport
from hmas.bench.metrics import RequestResult


def result(control: DemoControl, ttft_s: float, swaps: int = 0) -> DemoResult:
    done = RequestResult(0.0, 10, 5, 1000.0, 50.0, ttft_s, 0.02, ttft_s + 0.08)
    lost = RequestResult(0.0, 10, 0, 1000.0, 50.0, finished=False)
    live = LiveReport((done, lost), 4.0, {"HTTP 503": 1}, 0.001)
    return DemoResult(control, live, swaps, 0, ("fcfs", "edf")[: swaps + 1])


RESULTS = (result(DemoControl.FCFS, 2.0), result(DemoControl.HMAS, 0.5, swaps=1))


def test_both_runs_stand_side_by_side() -> None:
    console = Console(record=True, width=100)
    console.print(comparison(RESULTS, "the demo"))
    text = console.export_text()
    cells = [line.split("│") for line in text.splitlines() if line.startswith("│")]
    rows = {row[1].strip(): [cell.strip() for cell in row[2:4]] for row in cells}
    assert rows["goodput (both SLOs met)"] == ["0.0%", "50.0%"]
    assert rows["TTFT p95"] == ["2.00 s", "0.50 s"]
    assert rows["topologies"] == ["fcfs", "fcfs, edf"]
    assert rows["swaps"] == ["0", "1"]


def test_json_says_where_the_numbers_come_from() -> None:
    origin = Origin.of(["--duration", "5"], now_s=0.0, cores=2)
    found = json.loads(to_json(RESULTS, origin, {"rps": 7.0}))
    assert found["command"] == "python -m hmas.bench.demo --duration 5"
    assert found["at"] == "1970-01-01T00:00:00+00:00"
    assert "2 cores" in found["machine"]
    assert found["rps"] == 7.0
    hmas = found["runs"]["hmas"]
    assert (hmas["goodput_rate"], hmas["lost"], hmas["swaps"]) == (0.5, 1, 1)
    assert found["runs"]["fcfs"]["errors"] == {"HTTP 503": 1}
    assert "hmas" in origin.line()
