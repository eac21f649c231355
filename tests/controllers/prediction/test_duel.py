from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.prediction.duel import (
    MOST_LOSS,
    Drift,
    Duel,
    DuelConfig,
    Standing,
    by_chance,
)

CONFIG = DuelConfig()


def losses(
    seed: int, count: int, gain: float, *, shared: float = 0.0, level: float = 0.8
) -> Iterator[tuple[float, float]]:
    """Of both models; the second is better by ``gain``; ``shared`` favours one for a while."""
    rng = random.Random(seed)
    luck = 0.0
    for number in range(count):
        if number % 10 == 0:
            luck = rng.gauss(0, shared)
        truth = rng.gauss(0, level)
        first, second = abs(truth + rng.gauss(0, 0.3)), abs(truth + rng.gauss(0, 0.3))
        yield first, max(0.0, second * (1 - gain) + luck)


def fed(duel: Duel, pairs: Iterator[tuple[float, float]]) -> list[int]:
    """Requests after which the roles changed."""
    return [number for number, pair in enumerate(pairs, 1) if duel.observe(*pair)]


def promoted(seed: int = 0) -> Duel:
    duel = Duel()
    fed(duel, losses(seed, 2000, 0.2))
    assert duel.standing is Standing.PROMOTED
    return duel


@pytest.mark.parametrize("shared", [0.0, 0.2])
def test_equal_models_change_roles_no_more_often_than_stated(shared: float) -> None:
    runs = 120
    changes = 0
    for seed in range(runs):
        duel = Duel()
        fed(duel, losses(seed, 3000, 0.0, shared=shared))
        changes += duel.state().promotions
    assert changes <= runs * CONFIG.level + 2


@pytest.mark.parametrize(("gain", "within"), [(0.1, 1500), (0.2, 750), (0.4, 500)])
def test_a_better_one_is_promoted_soon_and_once(gain: float, within: int) -> None:
    for seed in range(10):
        changes = fed(duel := Duel(), losses(seed, 4000, gain))
        assert len(changes) == 1
        assert CONFIG.min_requests <= changes[0] <= within
        assert duel.state().promotions == 1


def test_a_gain_below_the_margin_is_not_worth_it_however_certain() -> None:
    duel = Duel()
    for number in range(5000):
        loss = 0.5 + 0.1 * (number % 3)
        assert not duel.observe(loss, loss * (1 - CONFIG.margin + 0.01))
    assert duel.standing is Standing.SHADOW


def test_a_worse_one_stays_in_the_shadow() -> None:
    duel = Duel()
    assert not fed(duel, losses(1, 5000, -0.2))
    state = duel.state()
    assert state.champion_loss is not None
    assert state.other_loss is not None
    assert state.champion_loss < state.other_loss
    assert state.requests == CONFIG.window


def test_it_is_rolled_back_when_its_loss_rises_and_the_former_is_better() -> None:
    duel = promoted()
    changes = fed(duel, losses(7, 1000, -1.0))
    assert len(changes) == 1
    assert changes[0] <= 500
    state = duel.state()
    assert (state.standing, state.rollbacks) == (Standing.QUARANTINED, 1)
    assert not duel.challenger_answers
    assert not fed(duel, losses(8, 5000, 0.4)), "it is not trusted again"


def test_traffic_that_is_hard_for_both_is_no_reason_to_go_back() -> None:
    duel = promoted()
    assert not fed(duel, losses(7, 3000, 0.2, level=2.5))
    assert duel.state().drifts == 1


def test_without_a_drift_a_promotion_that_was_wrong_is_taken_back_all_the_same() -> None:
    duel = promoted()
    for step in range(40):
        fed(duel, losses(100 + step, 250, 0.2 - 0.01 * step))
    assert duel.standing is Standing.QUARANTINED


def test_alone_only_the_drift_is_watched() -> None:
    duel = Duel(has_challenger=False)
    for first, _ in losses(1, 1000, 0.0, level=0.3):
        duel.observe(first)
    assert (duel.state().standing, duel.state().drift) == (Standing.ABSENT, Drift.STABLE)
    seen = set()
    for first, _ in losses(2, 500, 0.0, level=2.0):
        duel.observe(first)
        seen.add(duel.state().drift)
    state = duel.state()
    assert Drift.WORSE in seen
    assert (state.drifts, state.promotions, state.other_loss) == (1, 0, None)
    for first, _ in losses(3, 2000, 0.0, level=2.0):
        duel.observe(first)
    assert duel.state().drift is Drift.STABLE, "a rise is news for a while"


def test_nothing_is_known_before_the_first_block() -> None:
    state = Duel().state()
    assert (state.requests, state.champion_loss, state.other_loss) == (0, None, None)


def test_how_likely_chance_is() -> None:
    assert by_chance([0.0] * 20) == 1.0
    assert by_chance([1.0] * 20) == 0.0
    assert by_chance([1.0]) == 1.0
    # Student's t of 2.093 at 19 degrees of freedom leaves 2.5 percent above it.
    rng = random.Random(0)
    values = [rng.gauss(0, 1) for _ in range(20)]
    mean = sum(values) / 20
    spread = (sum((value - mean) ** 2 for value in values) / 19) ** 0.5
    moved = [(value - mean) / spread + 2.093 / 20**0.5 for value in values]
    assert by_chance(moved) == pytest.approx(0.025, rel=0.02)
    assert by_chance([-value for value in moved]) == pytest.approx(0.975, rel=0.02)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), max_size=400),
    st.sampled_from((1, 5, 25)),
)
def test_whatever_the_losses_the_state_is_sound(
    pairs: list[tuple[float, float]], block: int
) -> None:
    config = DuelConfig(min_requests=50, window=100, every=25, block=block, recent=50)
    duel = Duel(config)
    changes = fed(duel, iter(pairs))
    state = duel.state()
    assert len(changes) == state.promotions + state.rollbacks
    assert state.rollbacks <= state.promotions <= 1
    assert duel.challenger_answers == (state.promotions > state.rollbacks)
    assert state.requests <= config.window
    assert all(loss is None or 0 <= loss <= MOST_LOSS for loss in (state.champion_loss,))
