"""Whether a learned tagger is asked follows from what it cost."""

from __future__ import annotations

import pytest

from hmas.controllers.perception.chain import Guess
from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.punctual import REHEARSAL, PunctualClassifier
from hmas.engine.features import TaskType

PROMPT = Prompt(text="x", size_bytes=1)
BUDGET_S = 0.002
ANSWER = Guess(TaskType.QA, 0.9)


class Slow:
    """A classifier whose cost is said, on a clock of its own."""

    def __init__(self, cost_s: float) -> None:
        self.cost_s = cost_s
        self.now_s = 0.0
        self.asked = 0
        self.is_broken = False

    def classify(self, prompt: Prompt, budget_s: float) -> Guess | None:
        self.now_s += self.cost_s
        self.asked += 1
        if self.is_broken:
            raise RuntimeError("weights are gone")
        return ANSWER


def punctual(inner: Slow, *, rehearsed: bool = True) -> PunctualClassifier:
    made = PunctualClassifier(inner, BUDGET_S, timer=lambda: inner.now_s)
    if rehearsed:
        made.rehearse()
    return made


def test_nobody_waits_for_what_was_never_measured() -> None:
    inner = Slow(0.0001)
    tagger = punctual(inner, rehearsed=False)
    assert tagger.classify(PROMPT, BUDGET_S) is None
    assert (inner.asked, tagger.skipped) == (0, 1)


def test_a_punctual_one_is_asked() -> None:
    tagger = punctual(Slow(0.0005))
    assert tagger.is_asked
    assert tagger.classify(PROMPT, BUDGET_S) == ANSWER
    assert tagger.cost_s == pytest.approx(0.0005)
    assert tagger.to_measure() is None


def test_one_that_is_slow_from_the_start_costs_no_request_anything() -> None:
    inner = Slow(0.05)
    tagger = punctual(inner)
    asked = inner.asked
    assert [tagger.classify(PROMPT, BUDGET_S) for _ in range(100)] == [None] * 100
    assert inner.asked == asked < len(REHEARSAL)
    assert (tagger.asked, tagger.skipped) == (0, 100)


def test_it_is_not_asked_when_too_little_of_the_budget_is_left() -> None:
    tagger = punctual(Slow(0.001))
    assert tagger.classify(PROMPT, 0.0005) is None
    assert tagger.classify(PROMPT, BUDGET_S) == ANSWER


def test_two_late_answers_in_a_row_suspend_it_one_does_not() -> None:
    inner = Slow(0.0005)
    tagger = punctual(inner)
    for _ in range(100):
        tagger.classify(PROMPT, BUDGET_S)
    inner.cost_s = 0.05
    tagger.classify(PROMPT, BUDGET_S)
    inner.cost_s = 0.0005
    assert tagger.classify(PROMPT, BUDGET_S) == ANSWER
    inner.cost_s = 0.05
    asked = inner.asked
    for _ in range(50):
        tagger.classify(PROMPT, BUDGET_S)
    assert inner.asked == asked + 2
    assert tagger.late == 3
    assert not tagger.is_asked


def test_measured_punctual_again_it_is_asked_again() -> None:
    inner = Slow(0.05)
    tagger = punctual(inner)
    tagger.classify(PROMPT, BUDGET_S)
    wanted = tagger.to_measure()
    assert wanted is PROMPT
    inner.cost_s = 0.0005
    for expected in (False, False, True):
        tagger.measured(tagger.measure(wanted))
        assert tagger.is_asked is expected
    assert tagger.classify(PROMPT, BUDGET_S) == ANSWER


def test_a_late_measurement_starts_the_count_again() -> None:
    tagger = punctual(Slow(0.05))
    for cost_s in (0.0005, 0.0005, 0.05, 0.0005, 0.0005):
        tagger.measured(cost_s)
    assert not tagger.is_asked


def test_a_tail_that_is_late_too_often_counts_though_never_twice_in_a_row() -> None:
    inner = Slow(0.0005)
    tagger = punctual(inner)
    for number in range(200):
        inner.cost_s = 0.05 if number % 10 == 0 else 0.0005
        tagger.classify(PROMPT, BUDGET_S)
    assert tagger.late < 15
    assert not tagger.is_asked


def test_a_broken_one_is_measured_and_raises_only_to_the_chain() -> None:
    inner = Slow(0.0001)
    inner.is_broken = True
    tagger = punctual(inner)
    with pytest.raises(RuntimeError):
        tagger.classify(PROMPT, BUDGET_S)


def test_a_guess_off_the_way_takes_its_time_and_failures_are_none() -> None:
    class Broken:
        def classify(self, prompt: Prompt, budget_s: float) -> Guess | None:
            raise RuntimeError("broken")

    class Sure:
        def classify(self, prompt: Prompt, budget_s: float) -> Guess | None:
            return Guess(TaskType.QA, 0.9) if prompt.text else None

    assert PunctualClassifier(Broken(), 1.0).guess(Prompt(text="x")) is None
    assert PunctualClassifier(Sure(), 1.0).guess(Prompt()) is None
    assert PunctualClassifier(Sure(), 1.0).guess(Prompt(text="x")) is TaskType.QA
