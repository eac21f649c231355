import numpy as np
import pytest

from hmas.bench.fidelity_cpu import LIMITS, CpuPlan, Recorded, Traffic, fitted_profile, requests_of
from hmas.bench.fit_profile import SeenByClient
from hmas.bench.fit_recorder import RequestTimes, StepLog
from hmas.bench.kernels import StepShape


def test_the_same_traffic_gives_the_same_requests():
    assert requests_of(CpuPlan().fit) == requests_of(CpuPlan().fit)


def test_fit_and_test_differ_in_arrivals_and_lengths():
    plan = CpuPlan()
    fit, test = requests_of(plan.fit), requests_of(plan.test)
    assert len(fit) == plan.fit.rps * plan.fit.duration_s
    assert fit[0] != test[0]
    assert all(r.features.prompt_tokens + r.output_tokens < LIMITS.max_model_len for r in fit)


def test_bursty_traffic_has_more_variable_gaps():
    def variation(burstiness):
        arrivals = [
            request.features.arrival_s
            for request in requests_of(Traffic(1, 20.0, 100.0, 50, 20, burstiness))
        ]
        gaps = np.diff(arrivals)
        return gaps.var() / gaps.mean() ** 2

    assert variation(4.0) > 2 * variation(1.0)


def test_a_recorded_run_becomes_a_profile():
    shapes = [StepShape(p, 100 + p, 1 + p % 7) for p in range(0, 500, 5)]
    log = StepLog(
        shapes=shapes,
        step_ms=[4.0 + 0.1 * shape.prefill_tokens for shape in shapes],
        requests={"cmpl-r000001-0-1234abcd": RequestTimes(1.5, 2.0, 3.0)},
    )
    profile = fitted_profile([Recorded(log, [SeenByClient("r000001", 1.49, 2.01, 100)])] * 2)
    assert profile.step_model.step_ms(200, 300, 5) == pytest.approx(24, rel=0.05)
    assert profile.frontend is not None
    assert profile.frontend.output_ms == pytest.approx(10)
