from __future__ import annotations

import pytest

from hmas.controllers.config import StateraConfig
from hmas.controllers.fence_risk import STEPS, FenceRisk, recompute_share
from hmas.engine.directive import StepModel
from tests.controllers.support import LIMITS, short

MODEL = StepModel(base_ms=10.0, prefill_ms=0.05, context_ms=0.0, sequence_ms=0.0)


def hold_back(risk: FenceRisk, seconds: float, start_s: float = 0.0, **changes: object) -> None:
    fields = {"waiting": 20, "running": 50, "kv_used": 0.6} | changes
    for k in range(round(seconds * 4)):
        risk.update(short(start_s + k / 4, **fields), 256.0, 0.0)


def test_opens_step_by_step_while_it_holds_requests_back() -> None:
    risk = FenceRisk(StateraConfig(), 0.1)
    seen = []
    for k in range(60):
        view = short(k / 4, waiting=20, running=50, kv_used=0.6)
        seen.append(risk.update(view, 256.0, 0.0))
    assert seen[0] == 0.1
    assert list(dict.fromkeys(seen)) == [0.1, *STEPS]


@pytest.mark.parametrize(
    "changes", [{"waiting": 0}, {"kv_used": 0.99}, {"running": 255}, {"running": None}]
)
def test_stays_where_the_fence_is_not_what_holds_back(changes: dict[str, object]) -> None:
    risk = FenceRisk(StateraConfig(), 0.1)
    hold_back(risk, 30, **changes)
    assert risk.strictest


def test_a_moment_of_waiting_is_not_holding_back() -> None:
    risk = FenceRisk(StateraConfig(), 0.1)
    for k in range(100):
        risk.update(short(k / 4, waiting=k % 3 and 5, running=50, kv_used=0.5), 256.0, 0.0)
    assert risk.strictest


def test_closes_while_recomputation_costs_too_much() -> None:
    risk = FenceRisk(StateraConfig(), 0.1)
    hold_back(risk, 20)
    assert risk.epsilon is None
    for k in range(400):
        risk.update(short(20 + k / 4, waiting=20, running=50, kv_used=1.0), 256.0, 0.4)
    assert risk.strictest


def test_recompute_share_is_preempted_context_times_its_price() -> None:
    view = short(running=100, kv_used=0.5, preemptions_per_s=4.0, completions_per_s=2.0)
    context_tokens = 0.5 * LIMITS.kv_blocks * LIMITS.block_size / 100
    assert recompute_share(view, LIMITS, MODEL) == pytest.approx(4 * context_tokens * 0.05 / 1000)
    assert recompute_share(view, LIMITS, None) == pytest.approx(0.2)
    assert recompute_share(short(), LIMITS, MODEL) == 0.0
