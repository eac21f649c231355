from __future__ import annotations

import random

import pytest

from hmas.controllers.config import StepFitConfig
from hmas.controllers.step_fit import StepFit
from hmas.engine.directive import StepModel
from hmas.engine.events import StepStats
from tests.controllers.support import step

TRUTH = StepModel(base_ms=12.0, prefill_ms=0.03, context_ms=0.0001, sequence_ms=0.08)


def report(
    noise: random.Random, truth: StepModel, at_s: float, *, spread: float = 0.05
) -> StepStats:
    """A few merged steps of a random batch, with relative noise on their time."""
    steps = noise.randint(1, 4)
    total_ms, prefill, context, sequences = 0.0, 0, 0, 0
    for _ in range(steps):
        p, n = noise.choice([0, 0, noise.randrange(2048)]), noise.randrange(1, 200)
        c = n * noise.randrange(100, 2000)
        total_ms += truth.step_ms(p, c, n) * noise.lognormvariate(0, spread)
        prefill, context, sequences = prefill + p, context + c, sequences + n
    return step(
        at_s,
        steps=steps,
        busy_s=total_ms / 1000,
        prefill_tokens=prefill,
        context_tokens=context,
        sequences=sequences,
    )


def fed(fit: StepFit, truth: StepModel, count: int, *, seed: int = 1) -> StepModel | None:
    noise = random.Random(seed)
    model = None
    for k in range(count):
        fit.observe(report(noise, truth, k * 0.1))
        model = fit.model(k * 0.1)
    return model


def assert_close(model: StepModel | None, truth: StepModel, within: float) -> None:
    assert model is not None
    for batch in ((0, 20_000, 50), (0, 200_000, 200), (1000, 50_000, 60), (2000, 5_000, 5)):
        assert model.step_ms(*batch) == pytest.approx(truth.step_ms(*batch), rel=within)


def test_converges_to_the_engine_from_a_cold_start() -> None:
    fit = StepFit(StepFitConfig())
    assert_close(fed(fit, TRUTH, 400), TRUTH, 0.05)
    assert fit.relative_error is not None
    assert fit.relative_error < 0.06


def test_says_nothing_before_it_knows_enough() -> None:
    fit = StepFit(StepFitConfig(min_observations=20))
    assert fed(fit, TRUTH, 19) is None


def test_decode_only_traffic_gives_no_price_for_prefill() -> None:
    fit = StepFit(StepFitConfig())
    for k in range(200):
        fit.observe(step(k * 0.1, prefill_tokens=0))
    assert fit.model(100.0) is None


def test_idle_reports_are_ignored() -> None:
    fit = StepFit(StepFitConfig())
    fit.observe(step(0.0, busy_s=0.0, sequences=0, prefill_tokens=0, decode_tokens=0))
    assert fit.observations == 0


def test_a_prior_rules_until_data_speak() -> None:
    prior = StepModel(base_ms=24.0, prefill_ms=0.06, context_ms=0.0002, sequence_ms=0.16)
    config = StepFitConfig(min_observations=5, max_error=2.0, ridge=200.0, refit_every_s=0.0)
    few = fed(StepFit(config, prior), TRUTH, 12, seed=2)
    many = fed(StepFit(config, prior), TRUTH, 4000, seed=2)
    batch = (1000, 50_000, 60)
    assert few is not None
    assert many is not None
    true_ms, prior_ms = TRUTH.step_ms(*batch), prior.step_ms(*batch)
    assert few.step_ms(*batch) > (true_ms + prior_ms) / 2
    assert many.step_ms(*batch) == pytest.approx(true_ms, rel=0.2)


def test_a_proven_prior_holds_from_the_start() -> None:
    fit = StepFit(StepFitConfig(), TRUTH, proven=True)
    assert fit.model(0.0) == TRUTH
    assert fed(fit, TRUTH, 5) == TRUTH
    wrong = StepModel(base_ms=1.0, prefill_ms=0.001, context_ms=0.0, sequence_ms=0.0)
    assert_close(fed(StepFit(StepFitConfig(), wrong, proven=True), TRUTH, 400), TRUTH, 0.1)


def test_follows_an_engine_that_became_slower() -> None:
    fit = StepFit(StepFitConfig(memory_steps=300))
    fed(fit, TRUTH, 500)
    slower = StepModel(base_ms=24.0, prefill_ms=0.06, context_ms=0.0002, sequence_ms=0.16)
    noise = random.Random(9)
    for k in range(1500):
        fit.observe(report(noise, slower, 50 + k * 0.1))
        model = fit.model(50 + k * 0.1)
    assert_close(model, slower, 0.1)


def test_coefficients_are_never_negative() -> None:
    noise = random.Random(7)
    fit = StepFit(StepFitConfig(min_observations=5, max_error=100.0))
    for k in range(300):
        fit.observe(
            step(k * 0.1, busy_s=noise.uniform(0.001, 0.5), prefill_tokens=noise.randrange(9))
        )
    model = fit.model(100.0)
    assert model is not None
    coefficients = (model.base_ms, model.prefill_ms, model.context_ms, model.sequence_ms)
    assert min(coefficients) >= 0


def test_a_model_that_stopped_predicting_is_withdrawn() -> None:
    fit = StepFit(StepFitConfig())
    assert fed(fit, TRUTH, 200) is not None
    noise = random.Random(8)
    for k in range(200):
        fit.observe(step(20 + k * 0.1, busy_s=noise.choice([0.001, 0.5])))
        model = fit.model(20 + k * 0.1)
    assert model is None


def test_the_published_model_is_stable() -> None:
    fit = StepFit(StepFitConfig())
    noise = random.Random(1)
    seen = set()
    for k in range(3000):
        fit.observe(report(noise, TRUTH, k * 0.1))
        if k > 500:
            seen.add(fit.model(k * 0.1))
    assert len(seen) <= 2


def test_a_few_outliers_do_little() -> None:
    fit = StepFit(StepFitConfig())
    noise = random.Random(1)
    for k in range(600):
        fit.observe(report(noise, TRUTH, k * 0.1))
        if k % 20 == 19:
            fit.observe(step(k * 0.1, busy_s=5.0))
        model = fit.model(k * 0.1)
    assert_close(model, TRUTH, 0.25)
