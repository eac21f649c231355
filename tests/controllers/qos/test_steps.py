from __future__ import annotations

import pytest

from hmas.controllers.config import ViewConfig
from hmas.controllers.qos.steps import StepWindows
from tests.controllers.support import step


def test_nothing_reported_is_nothing_measured() -> None:
    signals = StepWindows(ViewConfig()).signals(5.0)
    assert all(value is None for value in signals)


def test_signals_of_a_steady_engine() -> None:
    windows = StepWindows(ViewConfig())
    for k in range(1, 101):
        windows.observe(step(k * 0.05, preemptions=1 if k % 10 == 0 else 0))
    signals = windows.signals(5.0)
    assert signals.busy_fraction == pytest.approx(1.0, abs=0.03)
    assert signals.token_fill == pytest.approx(110 / 8192)
    assert signals.step_interval_ms == pytest.approx(50.0)
    assert signals.step_p95_ms == pytest.approx(50.0)
    assert signals.step_tokens_p95 == pytest.approx(110)
    assert signals.tokens_per_s == pytest.approx(110 * 20, rel=0.01)
    assert signals.preemptions_per_s == pytest.approx(2.0, rel=0.01)


def test_merged_steps_count_as_many() -> None:
    windows = StepWindows(ViewConfig())
    windows.observe(
        step(1.0, steps=4, busy_s=0.2, span_s=0.2, prefill_tokens=400, decode_tokens=40)
    )
    signals = windows.signals(1.0)
    assert signals.step_p50_ms == pytest.approx(50.0)
    assert signals.step_interval_ms == pytest.approx(50.0)
    assert signals.step_tokens_p95 == pytest.approx(110)


def test_an_idle_gap_is_not_time_between_tokens() -> None:
    windows = StepWindows(ViewConfig())
    windows.observe(step(10.0, busy_s=0.02, span_s=9.0))
    assert windows.signals(10.0).step_interval_ms == pytest.approx(40.0)


def test_an_engine_that_holds_nothing_is_idle() -> None:
    windows = StepWindows(ViewConfig())
    assert not windows.idle()
    windows.observe(step(1.0, running=0))
    assert windows.idle()
    windows.observe(step(2.0, running=0, waiting=1))
    assert not windows.idle()
