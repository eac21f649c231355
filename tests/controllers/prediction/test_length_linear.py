from __future__ import annotations

import numpy as np
import pytest

from hmas.controllers.prediction.length_features import NUMBERS
from hmas.controllers.prediction.length_linear import OwnNumbers


def numbers(prompt_tokens: float) -> list[float]:
    made = [0.0] * len(NUMBERS)
    made[NUMBERS.index("prompt_tokens")] = prompt_tokens
    return made


def run(own: OwnNumbers, group: str, slope: float, count: int = 400) -> float:
    """Mean error of the last 100 where the truth is a line through log prompt tokens."""
    rng, errors = np.random.default_rng(0), []
    for _ in range(count):
        x, median = float(rng.uniform(2, 8)), float(rng.uniform(3, 5))
        row = own.row(numbers(x), median)
        truth = 1 + slope * x + float(rng.normal(0, 0.05))
        errors.append(abs(own.predict(group, row) - truth))
        own.learn(group, row, truth)
    return float(np.mean(errors[-100:]))


def test_a_stranger_gets_the_models_median() -> None:
    own = OwnNumbers()
    assert own.predict("a", own.row(numbers(5.0), 4.2)) == 4.2


def test_it_bends_to_the_traffic() -> None:
    assert run(OwnNumbers(), "a", slope=0.5) < 0.15


def test_groups_are_apart() -> None:
    own = OwnNumbers()
    run(own, "a", slope=0.5)
    row = own.row(numbers(5.0), 4.2)
    assert own.predict("b", row) == 4.2
    assert own.predict("a", row) == pytest.approx(3.5, abs=0.3)


def test_groups_are_bounded() -> None:
    own = OwnNumbers(max_groups=2)
    row = own.row(numbers(5.0), 4.2)
    for group in ("a", "b", "c"):
        own.learn(group, row, 1.0)
    assert own.predict("a", row) == 4.2
    assert own.predict("c", row) != 4.2


def test_hostile_truths_leave_it_finite() -> None:
    own = OwnNumbers()
    rng = np.random.default_rng(1)
    for _ in range(5000):
        row = own.row(numbers(float(rng.choice([0.0, 21.0]))), float(rng.choice([0.0, 14.0])))
        own.learn("a", row, float(rng.choice([0.0, 21.0])))
    assert np.isfinite(own.predict("a", own.row(numbers(21.0), 14.0)))
