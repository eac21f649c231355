from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.budget import StepBudget
from hmas.engine.directive import Controls, StepModel
from tests.engine.support import LIMITS, queued

MODEL = StepModel(base_ms=10, prefill_ms=0.1, context_ms=0.0001, sequence_ms=0.1)


def test_prefill_fits_under_the_tightest_target_that_runs() -> None:
    budget = StepBudget(LIMITS)
    budget.start(queued("loose", slo_tpot_ms=100.0))
    budget.start(queued("tight", slo_tpot_ms=50.0))
    controls = Controls(step_model=MODEL, tpot_guard=1.0)
    tokens = budget.tokens(controls, running=2, decodes=2, context_tokens=1000)
    step_ms = MODEL.step_ms(tokens - 2, 1000, 3)
    assert 49.8 < step_ms <= 50.0


def test_the_target_loosens_when_the_tight_request_leaves() -> None:
    budget = StepBudget(LIMITS)
    loose, tight = queued("loose", slo_tpot_ms=100.0), queued("tight", slo_tpot_ms=50.0)
    for request in (loose, tight, tight):
        budget.start(request)
    budget.release(tight)
    assert budget.tightest_tpot_ms == 50.0
    budget.release(tight)
    assert budget.tightest_tpot_ms == 100.0
    budget.release(loose)
    assert budget.tightest_tpot_ms is None


def test_prefill_alone_has_the_whole_budget() -> None:
    budget = StepBudget(LIMITS)
    budget.start(queued(slo_tpot_ms=1.0))
    assert budget.tokens(Controls(step_model=MODEL), 1, 0, 0) == 2048


@given(
    st.none() | st.integers(1, 2048), st.integers(0, 64), st.integers(0, 64), st.integers(0, 10**6)
)
def test_no_decode_at_the_tail_starves(
    token_budget: int | None, running: int, prefilling: int, context: int
) -> None:
    budget = StepBudget(LIMITS)
    budget.start(queued(slo_tpot_ms=1.0))
    controls = Controls(token_budget=token_budget, step_model=MODEL)
    tokens = budget.tokens(controls, running, max(0, running - prefilling), context)
    assert running + 1 <= tokens <= LIMITS.max_num_batched_tokens
