from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.perception.slo import (
    ALPHA,
    BASE_SLO,
    UNKNOWN_SLO,
    importance_factor,
    slo_targets,
)
from hmas.engine.features import TaskType


def test_table_6_covers_every_task_type_but_unknown() -> None:
    assert set(BASE_SLO) == set(TaskType) - {TaskType.UNKNOWN}


@pytest.mark.parametrize(
    ("importance", "factor"), [(0.5, 1.2), (0.75, 1.0), (1.0, 0.8), (0.0, 1.2), (2.0, 0.8)]
)
def test_factor_falls_with_importance_and_is_clipped(importance: float, factor: float) -> None:
    assert importance_factor(importance) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("task", "importance", "ttft_ms", "tpot_ms"),
    [
        (TaskType.QA, 0.75, 4000, 70),
        (TaskType.QA, 1.0, 3200, 56),
        (TaskType.TRANSLATION, 0.5, 5400, 96),
        (TaskType.CODE_GENERATION, 0.9, 5280, 79),
        (TaskType.RESEARCH_AND_COMMUNICATION, 0.6, 14560, 168),
    ],
)
def test_eq_14(task: TaskType, importance: float, ttft_ms: float, tpot_ms: float) -> None:
    assert slo_targets(task, importance) == (ttft_ms, tpot_ms)


def test_unknown_takes_the_middle_of_the_table() -> None:
    assert slo_targets(TaskType.UNKNOWN, 0.75) == UNKNOWN_SLO


@given(st.sampled_from(TaskType), st.floats(0.5, 1.0), st.floats(0.5, 1.0))
def test_more_important_is_never_looser(task: TaskType, one: float, other: float) -> None:
    low, high = sorted((one, other))
    loose, strict = slo_targets(task, low), slo_targets(task, high)
    assert strict.ttft_ms <= loose.ttft_ms
    assert strict.tpot_ms <= loose.tpot_ms
    base = BASE_SLO.get(task, UNKNOWN_SLO)
    assert math.floor((1 - ALPHA) * base.ttft_ms) <= strict.ttft_ms
    assert loose.ttft_ms <= (1 + ALPHA) * base.ttft_ms
