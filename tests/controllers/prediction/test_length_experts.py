from __future__ import annotations

import numpy as np
import pytest

from hmas.controllers.prediction.length_experts import WeighedExperts


def test_begins_with_the_prior() -> None:
    weights = WeighedExperts((0.0, 8.0)).weights("a")
    assert weights[0] > 0.99
    assert sum(weights) == pytest.approx(1)


def test_the_better_expert_wins_for_its_own_group() -> None:
    experts = WeighedExperts((0.0, 0.0))
    for _ in range(60):
        experts.observe("a", [100, 10], 100)
        experts.observe("b", [100, 10], 10)
    assert experts.weights("a")[0] > 0.95
    assert experts.weights("b")[1] > 0.95


def test_it_changes_its_mind() -> None:
    experts = WeighedExperts((0.0, 0.0))
    for truth in [100] * 300 + [10] * 700:
        experts.observe("a", [100, 10], truth)
    assert experts.weights("a")[1] > 0.95


def test_the_average_is_about_as_good_as_the_best_expert() -> None:
    rng = np.random.default_rng(0)
    experts, mixed, single = WeighedExperts((0.0, 0.0, 0.0)), 0.0, np.zeros(3)
    for truth in rng.lognormal(4, 0.5, 2000):
        opinions = [truth * rng.lognormal(0, sigma) for sigma in (0.2, 0.6, 1.0)]
        weights = experts.weights("a")
        mixed += abs(sum(w * o for w, o in zip(weights, opinions, strict=True)) - truth)
        single += np.abs(np.array(opinions) - truth)
        experts.observe("a", opinions, truth)
    assert mixed <= 1.05 * single.min()


def test_groups_are_bounded() -> None:
    experts = WeighedExperts((0.0, 0.0), max_groups=2)
    for group in range(50):
        for _ in range(20):
            experts.observe(group, [100, 10], 100)
    assert experts.weights(0) == experts.weights("never seen")


def test_an_absurd_opinion_does_not_break_the_weights() -> None:
    experts = WeighedExperts((0.0, 0.0))
    for _ in range(30):
        experts.observe("a", [1e300, 5], 5)
    assert experts.weights("a")[1] == pytest.approx(1)
