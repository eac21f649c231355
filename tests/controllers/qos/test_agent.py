from __future__ import annotations

import pytest

from hmas.controllers.config import CalibrationConfig, StateraConfig, StepFitConfig, ViewConfig
from hmas.controllers.conformal import ConformalBound
from hmas.controllers.qos import Learning, QosAgent
from hmas.controllers.qos.agent import mismatch
from hmas.controllers.step_fit import StepFit
from hmas.controllers.tpot_guard import TpotGuard
from hmas.engine.events import Outcome
from tests.controllers.support import ENGINE, arrived, features, finished, first_token, step


def make_agent() -> tuple[QosAgent, ConformalBound]:
    calibration = ConformalBound(CalibrationConfig())
    learning = Learning(calibration, StepFit(StepFitConfig()), TpotGuard(StateraConfig()))
    return QosAgent(ENGINE, ViewConfig(), learning, 0.1), calibration


def run(agent: QosAgent, from_s: float, to_s: float, *, per_s: int = 10) -> None:
    """Steady traffic: everything meets its targets; the engine steps every 50 ms."""
    for k in range(round(from_s * 20), round(to_s * 20)):
        now_s = k / 20
        if k % (20 // per_s) == 0:
            request = features(f"r{k}", now_s)
            agent.observe(arrived(request))
            agent.observe(first_token(request))
            agent.observe(finished(request, at_s=now_s + 0.2))
        agent.observe(step(now_s, topology="sjf", directive_version=7))
        if k % 5 == 0:
            agent.short_view(now_s)


def test_before_any_event_everything_is_unmeasured() -> None:
    view = make_agent()[0].short_view(0.0)
    assert view.running is view.violation_rate is view.arrivals_per_s is view.mismatch is None
    assert view.signal_age_s is None
    assert view.samples == 0


def test_v_short_of_steady_traffic() -> None:
    agent, _ = make_agent()
    run(agent, 0.0, 20.0)
    view = agent.short_view(20.0)
    assert view.arrivals_per_s == pytest.approx(10, rel=0.05)
    assert view.violation_rate == 0.0
    assert view.goodput_per_s == pytest.approx(10, rel=0.05)
    assert view.ttft_p95_ms == pytest.approx(100)
    assert view.running == 10
    assert (view.topology, view.directive_version) == ("sjf", 7)
    assert view.tpot_utilisation == pytest.approx(0.5)
    assert view.tpot_at_risk == 0.0
    assert view.mismatch == pytest.approx(0.0)
    assert agent.latest == view


def test_a_silent_busy_engine_loses_its_signals_and_an_idle_one_does_not() -> None:
    agent, _ = make_agent()
    agent.observe(step(1.0, running=3))
    view = agent.short_view(9.0)
    assert view.running is view.waiting is view.busy_fraction is None
    assert view.signal_age_s == pytest.approx(8.0)
    agent.observe(step(10.0, running=0))
    assert agent.short_view(60.0).running == 0
    agent.observe(arrived(features("late", 61.0)))
    assert agent.short_view(62.0).running == 0
    assert agent.short_view(70.0).running is None


def test_windows_close_on_time_and_only_once() -> None:
    agent, _ = make_agent()
    run(agent, 0.0, 10.0)
    assert agent.close_window(9.75) is None
    agent.short_view(10.0)
    window = agent.close_window(10.0)
    assert window is not None
    assert window.completed
    assert window.rps == pytest.approx(10, rel=0.05)
    assert window.topology == "sjf"
    assert agent.close_window(10.0) is None


def test_a_stretched_cut_or_lossy_window_is_not_completed() -> None:
    agent, _ = make_agent()
    run(agent, 0.0, 1.0)
    agent.short_view(40.0)
    stretched = agent.close_window(40.0)
    agent.note_gap(2)
    agent.short_view(50.0)
    lossy = agent.close_window(50.0)
    agent.engine_restarted()
    agent.short_view(60.0)
    cut = agent.close_window(60.0)
    agent.short_view(70.0)
    whole = agent.close_window(70.0)
    closed = [window for window in (stretched, lossy, cut, whole) if window is not None]
    assert [window.completed for window in closed] == [False, False, False, True]
    assert [window.event_gaps for window in closed] == [0, 2, 0, 0]
    assert agent.short_view(71.0).event_gaps == 2


def test_prediction_errors_feed_the_calibration() -> None:
    agent, calibration = make_agent()
    agent.observe(finished(features("a", length_bucket=2), output_tokens=80))
    agent.observe(finished(features("b", length_bucket=2), outcome=Outcome.ABORTED))
    assert calibration.errors() == {2: [30]}


def test_mismatch_is_equation_7() -> None:
    assert mismatch(300.0, 99.0) == pytest.approx(2.0)
    assert mismatch(50.0, 100.0) == 0.0
    assert mismatch(50.0, None) is None


def test_lost_ends_are_forgotten_once_the_engine_is_idle() -> None:
    agent, _ = make_agent()
    agent.observe(arrived(features("lost", 0.0)))
    agent.observe(step(100.0, running=0))
    agent.short_view(100.0)
    assert agent.in_flight == 0
