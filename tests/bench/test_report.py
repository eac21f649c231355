from __future__ import annotations

import json
import re

from hmas.bench.control import HMAS
from hmas.bench.metrics import RequestResult, summarize, windows
from hmas.bench.report import ControlCounts, ReplayReport, Switch

REQUIRED = set(
    re.findall(
        r"\w+",
        "requests completed lost duration_s goodput_rate ttft_compliance tpot_compliance esg_per_s"
        " ttft_p50_ms ttft_p95_ms tpot_p50_ms tpot_p95_ms preemptions swaps rollbacks seed profile"
        " control",
    )
)


def report(*, series: bool = False) -> ReplayReport:
    results = (RequestResult(0.0, 10, 5, 100.0, 10.0, 1 / 30, 0.001, 0.05),)
    return ReplayReport(
        summary=summarize(results, 2.0),
        lost=0,
        refused=0,
        counts=ControlCounts(swaps=2, rollbacks=1, bypasses=0, directives=9, nacks=0),
        control=HMAS,
        profile="p",
        trace="t.csv",
        lengths="true",
        length_error=0.0,
        rps=0.5,
        seed=3,
        results=results,
        switches=(Switch(1.0, "edf", bypass=False, owner="meta", reason="deadlines"),),
        series=tuple(windows(results, 1.0, 2.0)) if series else (),
    )


def test_all_required_keys_are_there() -> None:
    found = json.loads(report().to_json())
    assert set(found) >= REQUIRED
    assert found["control"] == "hmas"
    assert (found["swaps"], found["rollbacks"]) == (2, 1)
    assert found["ttft_p50_ms"] == 33.333333
    assert found["switches"][0]["topology"] == "edf"
    assert "series" not in found


def test_series_only_when_wanted() -> None:
    assert len(json.loads(report(series=True).to_json())["series"]) == 2


def test_one_line_and_the_same_bytes() -> None:
    assert report().to_json() == report().to_json()
    assert "\n" not in report().to_json()
