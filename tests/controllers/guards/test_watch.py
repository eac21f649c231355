from __future__ import annotations

from typing import Any

import pytest

from hmas.controllers.config import ControlConfig
from hmas.controllers.decisions import GuardKind
from hmas.controllers.guards.choice import Chosen, TopologyChoice
from hmas.controllers.guards.rollback import Judgement, Verdict
from hmas.controllers.guards.watch import GuardWatch
from hmas.controllers.views import VShort
from tests.controllers.support import ENGINE, short


class BrokenBypass:
    active, reason = False, ""

    def update(self, view: VShort, *, restrained: bool) -> bool:
        raise ZeroDivisionError("no samples")

    def request(self, reason: str, now_s: float) -> bool:
        return False


class ScriptedRollback:
    """Says one thing; counts what it was asked."""

    def __init__(self, judgement: Judgement | Exception | None) -> None:
        self.open = True
        self._judgement = judgement

    def watch(self, topology: str, before: VShort | None, now_s: float) -> None:
        self.open = True

    def cancel(self) -> None:
        self.open = False

    def check(self, view: VShort) -> Judgement | None:
        if isinstance(self._judgement, Exception):
            raise self._judgement
        return self._judgement


def judgement(verdict: Verdict, **changes: Any) -> Judgement:
    return Judgement(
        verdict=verdict, topology="edf", reason="because", **({"final": True} | changes)
    )


def make(**guards: Any) -> tuple[GuardWatch, TopologyChoice]:
    config = ControlConfig()
    choice = TopologyChoice(config.rollback, Chosen("fcfs", {}))
    choice.switch(Chosen("edf", {}), 0.0)
    return GuardWatch(ENGINE, config, choice, **guards), choice


def run(watch: GuardWatch, *, watching: bool = True, **signals: Any) -> list[GuardKind]:
    watch.run(short(10.0, **signals), restrained=True, watching=watching)
    return [event.kind for event in watch.take_events()]


def test_a_guard_that_raises_denies_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    watch, choice = make(bypass=BrokenBypass())
    assert run(watch) == [GuardKind.GUARD_ERROR]
    assert run(watch) == []
    assert watch.denied == "bypass guard failed: ZeroDivisionError: no samples"
    assert choice.current.topology == "edf"
    assert "bypass guard of engine0 failed" in caplog.text


def test_a_rollback_guard_that_raises_neither_keeps_nor_drops_the_choice() -> None:
    watch, choice = make(rollback=ScriptedRollback(ValueError("broken")))
    assert run(watch) == [GuardKind.GUARD_ERROR]
    assert (choice.current.topology, choice.stable.topology) == ("edf", "fcfs")
    assert "ValueError" in watch.denied


def test_denial_ends_with_the_fault() -> None:
    rollback = ScriptedRollback(ValueError("broken"))
    watch, _ = make(rollback=rollback)
    run(watch)
    rollback._judgement = None
    assert run(watch) == []
    assert watch.denied == ""


def test_pass_makes_stable_and_fail_goes_back() -> None:
    watch, choice = make(rollback=ScriptedRollback(judgement(Verdict.PASS)))
    assert run(watch) == [GuardKind.ROLLBACK_PASS]
    assert choice.stable.topology == "edf"
    watch, choice = make(rollback=ScriptedRollback(judgement(Verdict.FAIL)))
    assert run(watch) == [GuardKind.ROLLBACK_FAIL]
    assert choice.current.topology == "fcfs"
    assert watch.rolled_back_now == "edf -> fcfs: because"


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        (Verdict.INCONCLUSIVE, GuardKind.ROLLBACK_INCONCLUSIVE),
        (Verdict.ERROR, GuardKind.ROLLBACK_ERROR),
    ],
)
def test_unmeasured_is_neither_good_nor_bad(verdict: Verdict, kind: GuardKind) -> None:
    watch, choice = make(rollback=ScriptedRollback(judgement(verdict, final=True)))
    assert run(watch) == [kind]
    assert (choice.current.topology, choice.stable.topology) == ("edf", "fcfs")


def test_an_operator_suspends_the_rollback_guard() -> None:
    rollback = ScriptedRollback(judgement(Verdict.FAIL))
    watch, choice = make(rollback=rollback)
    assert run(watch, watching=False) == []
    assert not rollback.open
    assert choice.current.topology == "edf"


def test_a_switch_that_ends_in_bypass_failed() -> None:
    watch, choice = make(rollback=ScriptedRollback(None))
    for k in range(24):
        stuck = short(k / 4, waiting=5, running=0)
        watch.run(stuck, restrained=True, watching=True)
    kinds = [event.kind for event in watch.take_events()]
    assert kinds == [GuardKind.BYPASS_ON, GuardKind.ROLLBACK_FAIL]
    assert watch.bypass_reason == "5 requests wait and none runs"
    assert choice.current.topology == "fcfs"
    assert "edf" in choice.quarantine
