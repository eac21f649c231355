"""Per-request SLO targets: Table 6 and Eq. 14 of the paper (E.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from hmas.engine.features import TaskType

ALPHA: Final = 0.2
"""Half width of the clipped linear importance factor."""

NEUTRAL_IMPORTANCE: Final = 0.75
"""The middle of [0.5, 1]: factor 1."""


class SloPair(NamedTuple):
    """TTFT in ms, TPOT in ms per output token after the first."""

    ttft_ms: float
    tpot_ms: float


BASE_SLO: Final[Mapping[TaskType, SloPair]] = MappingProxyType(
    {
        TaskType.QA: SloPair(4000, 70),
        TaskType.DIALOGUE: SloPair(4000, 70),
        TaskType.TRANSLATION: SloPair(4500, 80),
        TaskType.EXTRACTION: SloPair(6000, 80),
        TaskType.PARAPHRASING: SloPair(6000, 90),
        TaskType.CODE_GENERATION: SloPair(6000, 90),
        TaskType.INSTRUCTION_FOLLOWING: SloPair(6000, 100),
        TaskType.SUMMARIZATION: SloPair(7000, 110),
        TaskType.LETTER_DRAFTING: SloPair(8000, 120),
        TaskType.MATH_REASONING: SloPair(10000, 130),
        TaskType.ESSAY_GENERATION: SloPair(10000, 130),
        TaskType.LONG_FORM_GENERATION: SloPair(12000, 150),
        TaskType.RESEARCH_AND_COMMUNICATION: SloPair(13000, 150),
    }
)
"""Table 6."""

UNKNOWN_SLO: Final = BASE_SLO[TaskType.INSTRUCTION_FOLLOWING]
"""Targets when nothing at all is known: the middle of Table 6."""


def importance_factor(importance: float) -> float:
    """f(imp): 1 + ALPHA at 0.5 falling to 1 - ALPHA at 1, clipped outside (paper E.5)."""
    slope = (NEUTRAL_IMPORTANCE - importance) / (1.0 - NEUTRAL_IMPORTANCE)
    return min(1.0 + ALPHA, max(1.0 - ALPHA, 1.0 + ALPHA * slope))


@lru_cache(maxsize=4096)
def slo_targets(task_type: TaskType, importance: float) -> SloPair:
    """Eq. 14: the base targets of the task times the factor, rounded down."""
    base = BASE_SLO.get(task_type, UNKNOWN_SLO)
    factor = importance_factor(importance)
    return SloPair(_floor(base.ttft_ms * factor), _floor(base.tpot_ms * factor))


def _floor(target_ms: float) -> float:
    # 90 * 0.8 is 72.00000000000001 and 70 * 1.1 is 77.00000000000001, but 4500 * 0.94 falls
    # short of 4230: the table's own decimals must not lose a unit to binary rounding.
    return float(math.floor(round(target_ms, 6)))
