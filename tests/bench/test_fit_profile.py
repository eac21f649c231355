import numpy as np
import pytest

from hmas.bench.fit_profile import SeenByClient, fit_frontend, fit_mean_steps
from hmas.bench.fit_recorder import RequestTimes, StepLog
from hmas.bench.kernels import StepShape
from hmas.engine.directive import StepModel

TRUTH = StepModel(base_ms=5.0, prefill_ms=0.03, context_ms=1e-3, sequence_ms=0.2)


def shapes(count=600, seed=5):
    random = np.random.default_rng(seed)
    prefill = random.integers(1, 512, count) * (random.uniform(size=count) < 0.4)
    rows = zip(
        prefill, random.integers(50, 4000, count), random.integers(1, 32, count), strict=True
    )
    return [StepShape(int(p), int(c), int(s)) for p, c, s in rows]


def test_sums_of_noisy_steps_are_met():
    steps = shapes()
    noise = 1 + np.random.default_rng(6).exponential(0.5, len(steps))
    measured = [n * TRUTH.step_ms(*shape) for n, shape in zip(noise, steps, strict=True)]
    model, error = fit_mean_steps(steps, measured)
    assert sum(model.step_ms(*shape) for shape in steps) == pytest.approx(sum(measured), rel=0.02)
    assert error.points == len(steps)


def test_too_few_steps_are_refused():
    with pytest.raises(ValueError, match="too few"):
        fit_mean_steps(shapes(3), [1.0, 1.0, 1.0])


def test_the_frontend_is_what_lies_between_client_and_engine():
    prompts = [10 * n for n in range(1, 40)]
    requests = {f"r{n}": RequestTimes(n + 0.002 + 1e-5 * p, n + 0.5) for n, p in enumerate(prompts)}
    seen = [SeenByClient(f"r{n}", float(n), n + 0.501, p) for n, p in enumerate(prompts)]
    frontend = fit_frontend(StepLog(requests=requests), seen)
    assert frontend.request_ms == pytest.approx(2.0, abs=0.01)
    assert frontend.prompt_token_ms == pytest.approx(0.01, abs=1e-4)
    assert frontend.output_ms == pytest.approx(1.0, abs=1e-3)


def test_records_without_a_common_request_are_refused():
    with pytest.raises(ValueError, match="no request"):
        fit_frontend(StepLog(), [SeenByClient("a", 0.0, 1.0, 5)])


def test_waiting_for_a_step_to_end_is_not_the_frontends_cost():
    seen = [SeenByClient(f"r{n}", float(n), n + 0.6, 10) for n in range(40)]
    busy = {f"r{n}": RequestTimes(n + 0.5, n + 0.59) for n in range(20)}
    idle = {f"r{n}": RequestTimes(n + 0.003, n + 0.59) for n in range(20, 40)}
    log = StepLog(requests=busy | idle, spans=[(n + 0.001, n + 0.5) for n in range(20)])
    frontend = fit_frontend(log, seen)
    assert frontend.request_s(10) == pytest.approx(0.003, abs=1e-4)
