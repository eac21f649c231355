"""What a price costs: measured for each that may say it."""

from __future__ import annotations

from itertools import count

from hmas.bench.prediction.cost_speed import measure_cost_speed
from hmas.controllers.prediction.cost_model import CostModel
from tests.controllers.prediction.cost_support import record


def test_each_candidate_is_measured_by_the_timer() -> None:
    ticks = count()
    rows = measure_cost_speed(CostModel(record()), 0, lambda: next(ticks) * 3e-6)
    said_by = [row["said by"] for row in rows]
    assert said_by == ["trained", "trained, every load new", "analytic", "history"]
    assert {row["mean_us"] for row in rows} == {3.0}
