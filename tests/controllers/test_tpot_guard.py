from __future__ import annotations

import random

import pytest

from hmas.controllers.config import StateraConfig
from hmas.controllers.tpot_guard import LEVEL, TpotGuard


def run(guard: TpotGuard, miss_above: float, spread: float = 0.05, requests: int = 20_000) -> float:
    """Requests miss where the guard and their luck exceed a limit; the share that missed."""
    luck = random.Random(1)
    misses = 0
    for _ in range(requests):
        missed = guard.value + luck.gauss(0, spread) > miss_above
        misses += missed
        guard.observe(missed=missed)
    return misses / requests


def test_misses_settle_at_their_rate() -> None:
    guard = TpotGuard(StateraConfig(tpot_miss_rate=0.01))
    run(guard, miss_above=1.02)
    assert 0.8 < guard.value < 0.95
    assert run(guard, miss_above=1.02) == pytest.approx(0.01, abs=0.004)


def test_it_stays_within_its_bounds() -> None:
    config = StateraConfig()
    guard = TpotGuard(config)
    run(guard, miss_above=9.0)
    assert guard.value == pytest.approx(config.tpot_guard_high)
    run(guard, miss_above=0.0)
    assert guard.value == pytest.approx(config.tpot_guard_low, abs=LEVEL)


def test_single_misses_change_no_directive() -> None:
    guard = TpotGuard(StateraConfig(guard_step=0.01))
    values = set()
    for number in range(200):
        guard.observe(missed=number == 100)
        values.add(guard.value)
    assert len(values) == 1


def test_a_step_of_zero_fixes_it() -> None:
    guard = TpotGuard(StateraConfig(guard_step=0))
    for _ in range(100):
        guard.observe(missed=True)
    assert guard.value == StateraConfig().tpot_guard
