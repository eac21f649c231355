import msgspec
import numpy as np
import pytest

from hmas.bench.fidelity_run import Asked, simulate
from hmas.bench.fit_requests import StepSums, fit_requests
from hmas.engine.directive import StepModel
from tests.engine.simulator.support import profile

TRUTH = StepModel(base_ms=8.0, prefill_ms=0.05, context_ms=1e-4, sequence_ms=0.4)
LIMITS = {
    "max_num_seqs": 32,
    "max_num_batched_tokens": 512,
    "kv_blocks": 4000,
    "max_model_len": 2048,
}


def requests(count=120, seed=3):
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(0.1, count))
    prompts, outputs = random.integers(16, 1200, count), random.integers(2, 60, count)
    return [
        Asked(f"r{n}", float(at), int(p), int(o))
        for n, (at, p, o) in enumerate(zip(arrivals, prompts, outputs, strict=True))
    ]


def test_the_hidden_step_model_is_found_from_timestamps_alone():
    asked = requests()
    measured = simulate(asked, profile(TRUTH, **LIMITS))
    known = {request.name for request in asked[::2]}
    fitted = fit_requests(asked, measured, known, profile(**LIMITS)).step_model
    assert fitted.base_ms == pytest.approx(TRUTH.base_ms, rel=0.05)
    assert fitted.prefill_ms == pytest.approx(TRUTH.prefill_ms, rel=0.1)
    assert fitted.step_ms(0, 8000, 16) == pytest.approx(TRUTH.step_ms(0, 8000, 16), rel=0.02)


def test_sums_between_two_times_count_steps_in_proportion():
    sums = StepSums()
    two = msgspec.structs.replace(profile(), step_model=TRUTH)
    simulate([Asked("a", 1.0, 10, 3)], two, sums.observe)
    whole = sums.between(np.array([0.0]), np.array([2.0]))[0]
    assert whole[0] == pytest.approx(3)
    assert whole[1] == pytest.approx(10)
    assert whole[5] == pytest.approx(1.0)
    assert sums.between(np.array([0.25]), np.array([0.75]))[0, 5] == pytest.approx(0.5)
