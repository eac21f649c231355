from __future__ import annotations

from typing import Any

import pytest

from hmas.controllers.config import ControlConfig
from hmas.controllers.decisions import Action, Decision, Owner, ResumeState
from hmas.controllers.guards.choice import Chosen
from hmas.controllers.guards.watch import GuardWatch
from hmas.controllers.meta.base import Proposal, Refusal, RefusalKind
from hmas.controllers.slow_loop import SlowLoop
from hmas.controllers.views import Drift
from hmas.engine.topologies import topology_names
from tests.controllers.support import ENGINE, long, short

CONFIG = ControlConfig()


def make(start: str = "fcfs", **config: Any) -> tuple[SlowLoop, GuardWatch]:
    settings = ControlConfig(**config)
    loop = SlowLoop(ENGINE, settings, list(topology_names()), Chosen(start, {}))
    return loop, GuardWatch(ENGINE, settings, loop.choice)


def wish(topology: str = "edf", **changes: Any) -> Proposal:
    return Proposal(controller="llm", topology=topology, reason="because", **changes)


def decide(
    loop: SlowLoop, watch: GuardWatch, now_s: float, *outcomes: Any, **options: Any
) -> Decision:
    view = options.pop("view", short(now_s, violation_rate=0.4, samples=100))
    return loop.decide(now_s, outcomes, view, watch, options.pop("owner", Owner.META))


def test_without_a_window_it_holds() -> None:
    loop, watch = make()
    decision = decide(loop, watch, 5.0, wish())
    assert decision.sentence == "hold fcfs: no completed window yet"
    assert decision.outcomes == [wish()]
    assert loop.choice.current.topology == "fcfs"


def test_a_switch_opens_a_guard_window_that_blocks_the_next() -> None:
    loop, watch = make()
    loop.add(long(0.0, violation_rate=0.4))
    decision = decide(loop, watch, 10.0, wish("edf"))
    assert decision.action is Action.SWITCH
    assert decision.sentence == "switch fcfs -> edf: because"
    assert decision.inputs["violation_rate"] == 0.4
    assert watch.rollback.open
    loop.add(long(10.0, violation_rate=0.4))
    blocked = decide(loop, watch, 20.0, wish("sjf"))
    assert not blocked.applied
    assert blocked.topology == "edf"
    assert blocked.sentence == ("hold edf: guard window of edf open (llm wants sjf: because)")


def test_only_windows_of_the_present_choice_count() -> None:
    loop, watch = make()
    loop.add(long(0.0, violation_rate=0.4))
    decide(loop, watch, 10.0, wish("edf"))
    assert loop.context(11.0, None, watch) is None
    loop.add(long(10.0, violation_rate=0.1))
    context = loop.context(20.0, None, watch)
    assert context is not None
    assert len(context.windows) == 1


def test_no_switch_while_cooling_down_and_none_into_quarantine() -> None:
    loop, watch = make()
    loop.choice.switch(Chosen("edf", {}), 0.0)
    loop.choice.failed(0.0)
    loop.add(long(0.0, violation_rate=0.4))
    cooling = decide(loop, watch, 10.0, wish("sjf"))
    assert "cool-down for another 50 s" in cooling.sentence
    refused = decide(loop, watch, 100.0, wish("edf"))
    kinds = [outcome.kind for outcome in refused.outcomes if isinstance(outcome, Refusal)]
    assert kinds == [RefusalKind.QUARANTINED]
    assert refused.topology != "edf"


@pytest.mark.parametrize("owner", [Owner.PIN, Owner.BYPASS, Owner.KILL_SWITCH])
def test_a_higher_owner_is_not_overruled(owner: Owner) -> None:
    loop, watch = make()
    loop.add(long(0.0, violation_rate=0.4))
    decision = decide(loop, watch, 10.0, wish("edf"), owner=owner)
    assert not decision.applied
    assert owner.value.replace("_", " ") in decision.sentence
    assert loop.choice.current.topology == "fcfs"
    assert loop.last_decision_id == ""


def test_a_failing_guard_denies_switches() -> None:
    loop, watch = make()
    loop.add(long(0.0, violation_rate=0.4))
    watch.denied = "bypass guard failed: ValueError: x"
    assert "bypass guard failed" in decide(loop, watch, 10.0, wish("edf")).sentence


def test_hints_change_without_a_guard_window() -> None:
    loop, watch = make("edf")
    loop.add(long(0.0, violation_rate=0.4))
    decision = decide(loop, watch, 10.0, wish("edf", hints={"first_token": 1.0}))
    assert (decision.action, decision.sentence) == (Action.HINTS, "tune edf: because")
    assert loop.choice.current.hints == {"first_token": 1.0}
    assert not watch.rollback.open


def test_bypass_may_be_asked_for_in_an_emergency_only() -> None:
    loop, watch = make()
    loop.add(long(0.0, violation_rate=0.4))
    calm = short(10.0, violation_rate=0.1, samples=100)
    decision = decide(loop, watch, 10.0, wish(bypass=True), view=calm)
    assert (decision.applied, decision.action) == (False, Action.BYPASS)
    assert "bypass is for emergencies" in decision.sentence
    storm = short(20.0, violation_rate=0.9, samples=100)
    decision = decide(loop, watch, 20.0, wish(bypass=True), view=storm)
    assert (decision.applied, decision.sentence) == (True, "bypass: because")
    assert watch.bypass_reason == "llm: because"


def test_turns_come_on_time_and_early_when_an_overload_begins() -> None:
    loop, watch = make()
    assert not loop.due(1e9)
    loop.add(long(0.0, violation_rate=0.0))
    assert not loop.due(19.9)
    assert loop.due(20.0)
    decide(loop, watch, 20.0)
    assert not loop.due(79.0)
    loop.add(long(20.0, violation_rate=0.3))
    assert not loop.due(39.0)
    assert loop.due(40.0)
    decide(loop, watch, 40.0)
    loop.add(long(30.0, violation_rate=0.3))
    assert not loop.due(60.0)
    loop.add(long(50.0, violation_rate=0.9, drift=[Drift.VIOLATION_RATE]))
    assert loop.due(60.0)


def test_it_resumes_where_a_predecessor_stopped() -> None:
    loop, watch = make()
    state = ResumeState(
        engine_id=ENGINE,
        version=9,
        topology="edf",
        hints={"first_token": 1.0},
        stable_topology="gone",
        cool_down_until_s=100.0,
        quarantine={"sjf": 500.0},
        decisions=41,
    )
    loop.restore(state)
    loop.add(long(0.0, violation_rate=0.4))
    assert loop.choice.current == Chosen("edf", {"first_token": 1.0})
    assert loop.choice.stable == Chosen("fcfs", {})
    decision = decide(loop, watch, 10.0, wish("two_lane"))
    assert decision.decision_id == "engine0-42"
    assert "cool-down" in decision.sentence
    assert loop.choice.quarantined(10.0) == {"sjf": 500.0}
