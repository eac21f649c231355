from __future__ import annotations

import pytest

from hmas.controllers.meta.summary import summarize
from hmas.controllers.views import Drift, GroupView
from tests.controllers.support import long


def test_rates_are_weighted_by_the_requests_behind_them() -> None:
    windows = [
        long(0.0, violation_rate=0.1, samples=300, arrivals=300),
        long(10.0, violation_rate=0.5, samples=100, arrivals=100),
    ]
    summary = summarize(windows, 0.6)
    assert summary.windows == 2
    assert summary.span_s == 20.0
    assert summary.rps == pytest.approx(20.0)
    assert summary.samples == 400
    assert summary.violation_rate == pytest.approx(0.2)
    assert summary.violation_trend == pytest.approx(0.4)


def test_what_no_window_measured_stays_unmeasured() -> None:
    summary = summarize([long(0.0, samples=0, arrivals=0)], 0.6)
    assert summary.violation_rate is summary.hol_index is summary.fairness is None
    assert summary.violation_trend is summary.mismatch_p95 is summary.coverage is None
    assert summary.unfair_windows == 0


def test_head_of_line_index_is_weighted_by_misses() -> None:
    windows = [
        long(0.0, violation_rate=0.5, hol_index=1.0),
        long(10.0, violation_rate=0.0, hol_index=0.0),
    ]
    assert summarize(windows, 0.6).hol_index == pytest.approx(1.0)


def test_unfair_windows_count_back_from_the_newest() -> None:
    values = [0.2, 0.9, 0.3, 0.4]
    windows = [long(10.0 * k, fairness=value) for k, value in enumerate(values)]
    assert summarize(windows, 0.6).unfair_windows == 2


def test_worst_tails_tenants_and_drift() -> None:
    tenants = [{"a": GroupView(share=1.0, samples=1)}, {"b": GroupView(share=1.0, samples=1)}]
    windows = [
        long(0.0, ttft_p95_ms=100.0, tenants=tenants[0], drift=[Drift.TASK_MIX]),
        long(10.0, ttft_p95_ms=900.0, tenants=tenants[1], drift=[Drift.TASK_MIX]),
    ]
    summary = summarize(windows, 0.6)
    assert summary.ttft_p95_ms == 900.0
    assert summary.tenants == 2
    assert summary.drift == [Drift.TASK_MIX]
