import pytest

from hmas.engine.core import StepControls
from hmas.engine.simulator.line import ActiveState
from hmas.engine.simulator.tally import StepPlan, StepTally


def test_sums_over_steps_and_the_state_of_the_last():
    tally = StepTally(lambda: ActiveState(3, "edf", bypass=False, lease_expired=True, doubt=""))
    tally.add(StepPlan(1.0, 0.5, 30, 0, 30, 1, 0, []))
    tally.add(StepPlan(1.5, 0.25, 0, 2, 62, 2, 1, []))
    stats = tally.flush(2.0, 2, 5, 0.5, StepControls(8, 64))
    assert (stats.step, stats.steps) == (2, 2)
    assert stats.busy_s == pytest.approx(0.75)
    assert stats.span_s == pytest.approx(1.0)
    assert (stats.prefill_tokens, stats.decode_tokens, stats.context_tokens) == (30, 2, 92)
    assert (stats.sequences, stats.preemptions, stats.waiting, stats.n_run) == (3, 1, 5, 8)
    assert (stats.directive_version, stats.topology, stats.lease_expired) == (3, "edf", True)


def test_starts_anew_after_a_flush():
    tally = StepTally(lambda: ActiveState(0, "fcfs", bypass=False, lease_expired=False, doubt=""))
    tally.add(StepPlan(1.0, 0.5, 30, 0, 30, 1, 0, []))
    tally.flush(2.0, 0, 0, 0.0, StepControls(8, 64))
    stats = tally.flush(3.0, 0, 0, 0.0, StepControls(8, 64))
    assert (stats.step, stats.steps, stats.prefill_tokens, stats.span_s) == (1, 0, 0, 0.0)
