from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.budget import StepBudget, TpotCredit
from hmas.engine.directive import Controls, StepModel
from hmas.engine.topologies.queued import QueuedRequest
from tests.engine.support import LIMITS, queued

MODEL = StepModel(base_ms=10, prefill_ms=0.1, context_ms=0.0001, sequence_ms=0.1)


class Host:
    """Steps of an engine whose running requests all get a token in each of them."""

    def __init__(self) -> None:
        self.held: dict[QueuedRequest, int] = {}
        self.budget = StepBudget(LIMITS, lambda request: self.held[request])
        self.now_s = 100.0

    def start(self, request: QueuedRequest, produced: int = 0) -> None:
        self.held[request] = request.features.prompt_tokens + produced
        self.budget.start(request)

    def step(self, seconds: float) -> None:
        """Begins a step; after ``seconds`` every running request holds one more token."""
        self.budget.begin_step(self.now_s)
        self.now_s += seconds
        for request in self.held:
            self.held[request] += 1

    def look(self) -> None:
        self.budget.begin_step(self.now_s)


def test_prefill_fits_under_the_tightest_target_that_decodes() -> None:
    host = Host()
    host.start(queued("loose", slo_tpot_ms=100.0))
    host.start(queued("tight", slo_tpot_ms=50.0))
    host.step(0.5)
    host.look()
    controls = Controls(step_model=MODEL, tpot_guard=1.0)
    tokens = host.budget.tokens(controls, running=2, decodes=2, context_tokens=1000)
    step_ms = MODEL.step_ms(tokens - 2, 1000, 3)
    assert 49.8 < step_ms <= 50.0


def test_short_steps_buy_a_long_one() -> None:
    host = Host()
    host.start(queued(slo_tpot_ms=50.0))
    host.step(0.5)
    for _ in range(3):
        host.step(0.020)
    host.look()
    # Three tokens took 60 ms of 150 ms: the next may take 50 + 90 ms.
    assert host.budget.allowed_ms(1.0) == pytest.approx(140.0, abs=0.01)
    assert host.budget.allowed_ms(0.8) == pytest.approx(100.0, abs=0.01)


def test_a_request_behind_its_target_holds_nobody_back() -> None:
    host = Host()
    host.start(queued(slo_tpot_ms=50.0))
    host.step(0.5)
    host.step(3.0)
    host.look()
    assert host.budget.allowed_ms(1.0) == pytest.approx(50.0)


def test_the_bound_loosens_when_the_tight_request_leaves() -> None:
    host = Host()
    loose, tight = queued("loose", slo_tpot_ms=100.0), queued("tight", slo_tpot_ms=50.0)
    host.start(loose)
    host.start(tight)
    host.step(0.5)
    host.look()
    assert host.budget.allowed_ms(1.0) == pytest.approx(50.0)
    host.budget.release(tight)
    assert host.budget.allowed_ms(1.0) == pytest.approx(100.0)
    host.budget.release(loose)
    assert host.budget.allowed_ms(1.0) is None


def test_a_resumed_request_has_no_credit() -> None:
    host = Host()
    resumed = queued("resumed", slo_tpot_ms=50.0)
    host.start(resumed, produced=7)
    for _ in range(5):
        host.step(0.001)
    assert host.budget.allowed_ms(1.0) == 50.0
    host.budget.release(resumed)
    assert host.budget.allowed_ms(1.0) is None


def test_what_still_computes_its_prompt_bounds_no_step() -> None:
    host = Host()
    host.start(queued(slo_tpot_ms=1.0))
    host.look()
    assert host.budget.allowed_ms(1.0) is None
    assert host.budget.tokens(Controls(step_model=MODEL), 1, 0, 0) == 2048


@given(
    st.none() | st.integers(1, 2048), st.integers(0, 64), st.integers(0, 64), st.integers(0, 10**6)
)
def test_no_decode_at_the_tail_starves(
    token_budget: int | None, running: int, prefilling: int, context: int
) -> None:
    host = Host()
    host.start(queued(slo_tpot_ms=1.0))
    host.step(0.01)
    host.look()
    controls = Controls(token_budget=token_budget, step_model=MODEL)
    tokens = host.budget.tokens(controls, running, max(0, running - prefilling), context)
    assert running + 1 <= tokens <= LIMITS.max_num_batched_tokens


@given(
    st.lists(
        st.tuples(
            st.sampled_from([40.0, 50.0, 80.0]), st.integers(0, 5), st.booleans(), st.booleans()
        ),
        max_size=40,
    ),
    st.sampled_from([0.8, 1.0]),
)
def test_the_credit_is_that_of_the_request_with_the_least(
    moves: list[tuple[float, int, bool, bool]], guard: float
) -> None:
    credit, since, now_s = TpotCredit(0.9), dict[QueuedRequest, tuple[float, int]](), 0.0
    for step, (target_ms, ticks, leaves, asks) in enumerate(moves):
        request = queued(slo_tpot_ms=target_ms)
        credit.start(request, now_s, step)
        since[request] = now_s, step
        if leaves:
            gone = next(iter(since))
            del since[gone]
            assert credit.release(gone)
        now_s += ticks * 0.02
        credit.set_guard(guard if asks else 0.9)
        each = {r: r.features.slo_tpot_ms * (guard if asks else 0.9) for r in since}
        naive = [
            max(ms, ms * (step - since[r][1] + 2) - (now_s - since[r][0]) * 1000)
            for r, ms in each.items()
        ]
        allowed_ms = credit.allowed_ms(now_s, step + 1)
        assert allowed_ms == (pytest.approx(min(naive), abs=1e-3) if naive else None)
