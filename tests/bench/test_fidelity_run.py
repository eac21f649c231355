import msgspec
import pytest

from hmas.bench.fidelity_run import Asked, Timing, simulate
from hmas.engine.events import StepStats
from hmas.engine.simulator.profile import Frontend
from tests.engine.simulator.support import profile


def test_one_request_on_an_idle_engine():
    timings = simulate([Asked("a", 1.0, 10, 5)], profile())
    assert timings["a"].first_s == pytest.approx(0.001)
    assert timings["a"].last_s == pytest.approx(0.005)
    assert timings["a"].tpot_s == pytest.approx(0.001)


def test_the_frontend_delays_every_token_alike():
    frontend = Frontend(request_ms=2.0, prompt_token_ms=0.1, output_ms=0.5)
    used = msgspec.structs.replace(profile(), frontend=frontend)
    bare = simulate([Asked("a", 0.0, 10, 5)], profile())["a"]
    around = simulate([Asked("a", 0.0, 10, 5)], used)["a"]
    assert around.first_s - bare.first_s == pytest.approx(0.0035)
    assert around.last_s - bare.last_s == pytest.approx(0.0035)


def test_every_step_is_observed():
    steps = []
    simulate([Asked("a", 0.0, 10, 5)], profile(), steps.append)
    assert [step.steps for step in steps if isinstance(step, StepStats)] == [1] * 5


def test_a_single_token_has_no_gap():
    assert Timing(0.2, 0.2, 1).tpot_s == 0.0
