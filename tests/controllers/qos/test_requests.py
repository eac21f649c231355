from __future__ import annotations

import pytest

from hmas.controllers.config import ViewConfig
from hmas.controllers.qos.ledger import Entry
from hmas.controllers.qos.requests import RequestWindows, violation_rate
from hmas.engine.events import Outcome
from tests.controllers.support import features, finished


def entry(**changes: object) -> Entry:
    return Entry(features(**changes))  # type: ignore[arg-type]


def test_nothing_known_is_none_not_zero() -> None:
    signals = RequestWindows(ViewConfig()).signals(1.0, 1.0)
    assert signals.violation_rate is signals.ttft_p95_ms is signals.tpot_violation_rate is None
    assert signals.samples == 0
    assert signals.arrivals_per_s == 0


def test_violation_rate_joins_its_two_parts() -> None:
    assert violation_rate(None, None) is None
    assert violation_rate(None, 0.25) == 0.25
    assert violation_rate(0.5, None) == 0.5
    assert violation_rate(0.5, 0.5) == pytest.approx(0.75)


def test_misses_known_early_do_not_outweigh_successes_known_late() -> None:
    windows = RequestWindows(ViewConfig())
    for index in range(10):
        request = entry(request_id=f"r{index}")
        windows.arrived(0.0, request)
        if index < 2:
            request.ttft_missed = True
            windows.ttft_missed(1.0, request)
        else:
            windows.first_token(0.5, request, 500.0)
    signals = windows.signals(2.0, 10.0)
    assert signals.ttft_violation_rate == pytest.approx(0.2)
    assert signals.violation_rate == pytest.approx(0.2)
    assert signals.samples == 10


def test_a_late_last_token_adds_to_the_misses() -> None:
    windows = RequestWindows(ViewConfig())
    for tpot_s in (0.05, 0.2):
        request = entry()
        windows.first_token(0.1, request, 100.0)
        windows.finished(request, finished(request.features, tpot_s=tpot_s, at_s=3.0))
    signals = windows.signals(5.0, 10.0)
    assert signals.tpot_violation_rate == pytest.approx(0.5)
    assert signals.violation_rate == pytest.approx(0.5)
    assert signals.goodput_per_s == pytest.approx(0.1)
    assert signals.completions_per_s == pytest.approx(0.2)


def test_shed_and_failed_requests_are_violations_and_aborted_ones_are_not() -> None:
    windows = RequestWindows(ViewConfig())
    windows.shed(1.0, entry())
    failed = finished(features(), outcome=Outcome.FAILED, at_s=1.0)
    windows.first_token(1.0, entry(), 10.0)
    windows.finished(entry(), failed)
    windows.finished(entry(), finished(features(), outcome=Outcome.ABORTED, at_s=1.0))
    signals = windows.signals(2.0, 10.0)
    assert signals.violation_rate == 1.0
    assert signals.sheds_per_s == pytest.approx(0.1)
    assert signals.completions_per_s == 0


def test_tpot_risk_is_the_share_of_targets_below_the_step_interval() -> None:
    windows = RequestWindows(ViewConfig())
    for target in (50.0, 100.0, 100.0, 200.0):
        windows.arrived(0.0, entry(slo_tpot_ms=target))
    assert windows.tight_tpot_ms() == 50.0
    assert windows.tpot_at_risk(60.0) == 0.25
    assert windows.tpot_at_risk(40.0) == 0.0
