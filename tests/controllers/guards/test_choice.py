from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.config import RollbackConfig
from hmas.controllers.guards.choice import Chosen, TopologyChoice

CONFIG = RollbackConfig()
FCFS, EDF = Chosen("fcfs", {}), Chosen("edf", {"first_token": 1.0})


def test_a_choice_becomes_stable_when_it_passed() -> None:
    choice = TopologyChoice(CONFIG, FCFS)
    choice.switch(EDF, 10.0)
    assert (choice.current, choice.stable) == (EDF, FCFS)
    choice.passed()
    assert choice.stable == EDF


def test_a_failed_choice_goes_into_quarantine_and_cool_down_begins() -> None:
    choice = TopologyChoice(CONFIG, FCFS)
    choice.switch(EDF, 10.0)
    assert choice.failed(20.0) == EDF
    assert choice.current == FCFS
    assert choice.rolled_back
    assert choice.quarantined(20.0) == {"edf": 20.0 + CONFIG.quarantine_s}
    assert choice.cooling_down(20.0 + CONFIG.cool_down_s - 1)
    assert not choice.cooling_down(20.0 + CONFIG.cool_down_s)
    assert choice.quarantined(20.0 + CONFIG.quarantine_s) == {}


def test_each_further_failure_doubles_the_quarantine_up_to_a_limit() -> None:
    choice, now_s, stays = TopologyChoice(CONFIG, FCFS), 0.0, []
    for _ in range(8):
        choice.switch(EDF, now_s)
        choice.failed(now_s)
        stays.append(choice.quarantined(now_s)["edf"] - now_s)
        now_s += 10_000
    assert stays[:3] == [600, 1200, 2400]
    assert max(stays) == stays[-1] == CONFIG.max_quarantine_s
    choice.switch(EDF, now_s)
    choice.passed()
    assert choice.failures == {}


def test_a_refused_switch_is_taken_back() -> None:
    choice = TopologyChoice(CONFIG, FCFS)
    choice.switch(EDF, 1.0)
    choice.revert()
    assert choice.current == FCFS


@given(st.lists(st.sampled_from(["switch", "pass", "fail"]), max_size=40))
def test_stable_is_always_something_that_passed_or_the_start(story: list[str]) -> None:
    choice, proven, now_s = TopologyChoice(CONFIG, FCFS), {"fcfs"}, 0.0
    names = ["edf", "sjf", "wfq", "two_lane"]
    for index, what in enumerate(story):
        now_s += 50.0
        if what == "switch":
            choice.switch(Chosen(names[index % 4], {}), now_s)
        elif what == "pass":
            choice.passed()
            proven.add(choice.current.topology)
        else:
            choice.failed(now_s)
            assert choice.current == choice.stable
        assert choice.stable.topology in proven


def test_hints_change_without_a_new_choice() -> None:
    choice = TopologyChoice(CONFIG, EDF)
    choice.tune(Chosen("edf", {"first_token": 0.0}))
    assert choice.current.hints == {"first_token": 0.0}
    assert choice.chosen_at_s == 0.0
