from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.directive import StepModel

models = st.builds(
    StepModel,
    base_ms=st.floats(0, 50),
    prefill_ms=st.floats(0.001, 1),
    context_ms=st.floats(0, 0.001),
    sequence_ms=st.floats(0, 1),
    prefill_quadratic_ms=st.just(0.0) | st.floats(1e-8, 1e-4),
)


@given(models, st.floats(1, 1000), st.integers(0, 100_000), st.integers(0, 256))
def test_the_most_prefill_tokens_are_the_most(
    model: StepModel, limit_ms: float, context: int, sequences: int
) -> None:
    most = model.max_prefill_tokens(limit_ms, context, sequences)
    assert most is not None
    if model.step_ms(0, context, sequences) <= limit_ms:
        assert model.step_ms(most, context, sequences) <= limit_ms * (1 + 1e-9)
        assert model.step_ms(most + 2, context, sequences) > limit_ms * (1 - 1e-9)
    else:
        assert most == 0


def test_free_prefill_has_no_bound() -> None:
    model = StepModel(base_ms=1, prefill_ms=0, context_ms=0, sequence_ms=0)
    assert model.max_prefill_tokens(10, 0, 1) is None


def test_step_time_adds_its_terms() -> None:
    model = StepModel(
        base_ms=5, prefill_ms=0.1, context_ms=0.001, sequence_ms=0.5, prefill_quadratic_ms=0.0001
    )
    assert model.step_ms(100, 1000, 4) == pytest.approx(5 + 10 + 1 + 2 + 1)
