from __future__ import annotations

import random
from typing import Any

from hmas.controllers.qos.drift import DriftDetector
from hmas.controllers.views import Drift, GroupView, LengthMix
from tests.controllers.support import long


def detect(*changes: dict[str, Any], steady: int = 20) -> list[list[Drift]]:
    noise = random.Random(1)
    detector = DriftDetector(epsilon=0.1)
    for _ in range(steady):
        assert detector.check(long(rps=10 + noise.uniform(-1, 1), violation_rate=0.02)) == []
    return [detector.check(long(**change)) for change in changes]


def test_steady_traffic_does_not_drift_and_jumps_do() -> None:
    same, jump = detect({"rps": 10.4}, {"rps": 30.0})
    assert same == []
    assert jump == [Drift.ARRIVAL_RATE]


def test_violations_drift_only_by_more_than_a_tenth() -> None:
    little, much = detect({"violation_rate": 0.08}, {"violation_rate": 0.4})
    assert little == []
    assert much == [Drift.VIOLATION_RATE]


def test_a_new_length_or_task_mix_is_seen() -> None:
    mix = LengthMix(shares={5: 1.0}, mean=2000.0, variance=1e4)
    tasks = {"QA": GroupView(share=1.0, samples=100)}
    (found,) = detect({"prompt": mix, "tasks": tasks})
    assert found == [Drift.PROMPT_LENGTH, Drift.TASK_MIX]


def test_few_arrivals_say_nothing_about_the_mix() -> None:
    mix = LengthMix(shares={5: 1.0}, mean=2000.0, variance=1e4)
    (found,) = detect({"prompt": mix, "arrivals": 5})
    assert found == []


def test_lost_coverage_is_a_drift_of_the_prediction() -> None:
    low, enough = detect({"coverage": 0.7}, {"coverage": 0.85})
    assert low == [Drift.PREDICTION_ERROR]
    assert enough == []
