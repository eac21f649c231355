"""Walk-throughs: a controller drives a real execution core; the sentence tells what happened."""

from __future__ import annotations

import itertools
import random
from typing import Any

import msgspec
import pytest

from hmas.controllers.config import ControlConfig
from hmas.controllers.decisions import Action, CycleResult, GuardKind, Owner, ResumeState
from hmas.controllers.engine_controller import EngineController
from hmas.controllers.meta.base import Proposal, Refusal, RefusalKind
from hmas.controllers.overrides import ControlOverride, KillSwitch, Overrides, Pin
from hmas.engine.core import ExecutionCore, Identity
from hmas.engine.directive import UNBOUNDED, Directive, DirectiveReply
from hmas.engine.events import RequestFinished, StepStats
from tests.controllers.support import (
    ENGINE,
    LIMITS,
    OF_THE_PAPER,
    arrived,
    describe,
    features,
    finished,
    first_token,
    step,
)

CYCLE_S = 0.25
FCFS = ControlConfig(initial_topology="fcfs", initial_hints={})


class World:
    """One engine that serves at a given quality, and the controller in front of it."""

    def __init__(self, config: ControlConfig = FCFS, resume: ResumeState | None = None) -> None:
        self.core = ExecutionCore(Identity(ENGINE, "boot1", "simulator", "1", "test"), LIMITS)
        offered = msgspec.structs.replace(self.core.describe(), topologies=list(OF_THE_PAPER))
        self.controller = EngineController(offered, config, resume)
        self.now_s = 0.0
        self.overrides = Overrides()
        self.results: list[CycleResult] = []
        self.directives: list[Directive] = []
        self._ids = itertools.count()
        self._noise = random.Random(1)

    @property
    def sentence(self) -> str:
        return self.results[-1].sentence

    def sentences(self) -> list[str]:
        return [result.sentence for result in self.results]

    def kinds(self) -> list[GuardKind]:
        return [event.kind for result in self.results for event in result.guard_events]

    def cycle(self) -> CycleResult:
        result = self.controller.cycle(self.now_s, self.overrides)
        self.results.append(result)
        wanted = result.directive or result.renew
        if result.directive is not None:
            self.directives.append(result.directive)
        if wanted is not None:
            reply = self.core.apply(wanted, self.now_s)
            self.controller.acknowledge(wanted, reply, self.now_s)
        self.controller.close_window(self.now_s)
        return result

    def run(self, seconds: float, *, late: float = 0.0, rps: int = 8, **signals: Any) -> None:
        """``late``: share of the requests that miss their TTFT target."""
        for _ in range(round(seconds / CYCLE_S)):
            for _ in range(rps // 4):
                self.serve(late=self._noise.random() < late)
            self.controller.observe(self.report(**signals))
            self.now_s += CYCLE_S
            self.cycle()

    def serve(self, *, late: bool) -> None:
        request = features(f"r{next(self._ids)}", self.now_s - (2.0 if late else 0.2))
        ttft_s = 1.9 if late else 0.1
        self.controller.observe(arrived(request))
        self.controller.observe(first_token(request, ttft_s))
        event: RequestFinished = finished(request, ttft_s=ttft_s, at_s=self.now_s)
        self.controller.observe(event)

    def report(self, **signals: Any) -> StepStats:
        said = {
            "topology": self.core.topology.name,
            "bypass": self.core.bypass,
            "directive_version": self.core.active_version,
        }
        return step(self.now_s, **(said | signals))


def test_the_first_cycle_starts_the_engine_and_quiet_ones_renew() -> None:
    world = World()
    first = world.cycle()
    assert first.sentence == "start fcfs: no signal from the engine yet"
    assert first.directive is not None
    assert (first.directive.version, first.directive.ttl_s) == (1, 5.0)
    assert first.directive.controls.n_run == LIMITS.max_num_seqs
    assert first.directive.controls.token_budget == LIMITS.max_num_batched_tokens // 4
    second = world.cycle()
    assert second.directive is None
    assert second.renew == first.directive
    assert second.sentence == "hold fcfs: no signal from the engine yet"


def test_light_load_holds_and_stays_wide_open() -> None:
    world = World()
    world.run(60)
    assert world.sentence == "hold fcfs: violation rate 0.00 within band"
    assert world.controller.decide(world.now_s).sentence == (
        "hold fcfs: violation rate 0.00 within band"
    )
    assert len(world.directives) <= 4
    assert {d.controls.n_run for d in world.directives} == {LIMITS.max_num_seqs}


def test_deadline_misses_switch_to_edf_and_a_good_switch_becomes_stable() -> None:
    world = World()
    world.run(30, late=0.5)
    decision = world.controller.decide(world.now_s)
    assert decision.action is Action.SWITCH
    assert decision.sentence.startswith("switch fcfs -> edf: deadline misses dominate (0.")
    world.run(CYCLE_S)
    assert world.sentence == decision.sentence
    assert world.core.topology.name == "edf"
    assert world.directives[-1].cause == decision.decision_id
    world.run(40)
    assert GuardKind.ROLLBACK_PASS in world.kinds()
    state = world.controller.resume_state()
    assert (state.topology, state.stable_topology) == ("edf", "edf")


def test_a_harmful_switch_is_rolled_back_and_quarantined() -> None:
    world = World()
    world.run(30, late=0.3)
    world.controller.decide(world.now_s)
    world.run(30, late=0.9)
    rolled = [sentence for sentence in world.sentences() if sentence.startswith("rollback")]
    assert len(rolled) == 1
    assert rolled[0].startswith("rollback edf -> fcfs: violation rate 0.")
    assert world.core.topology.name == "fcfs"
    assert world.results[-1].owner is Owner.ROLLBACK
    again = world.controller.decide(world.now_s, [edf("llm")])
    assert not again.applied or again.topology != "edf"
    assert "edf" in world.controller.resume_state().quarantine


def edf(controller: str) -> Proposal:
    return Proposal(controller=controller, topology="edf", reason="a hunch")


def test_an_llm_decides_before_the_rules_and_a_refusal_leaves_it_to_them() -> None:
    world = World()
    world.run(30, late=0.5)
    refusal = Refusal(controller="llm", kind=RefusalKind.NOT_JSON, detail="garbage")
    decision = world.controller.decide(world.now_s, [refusal])
    assert decision.controller == "rules"
    assert decision.outcomes[0] == refusal
    other = World()
    other.run(30, late=0.5)
    wish = Proposal(controller="llm", topology="two_lane", reason="a hunch")
    decision = other.controller.decide(other.now_s, [wish])
    assert (decision.controller, decision.topology) == ("llm", "two_lane")


def test_pin_beats_meta_and_speaks_for_itself() -> None:
    world = World()
    world.run(30, late=0.5)
    pin = Pin(
        topology="sjf",
        reason="demo",
        owner="alice",
        created_at_s=world.now_s,
        expires_at_s=14 * 3600.0,
    )
    world.overrides = Overrides(pin=pin)
    world.run(1, late=0.5)
    assert world.sentence == "pinned sjf by alice until 14:00 UTC: demo"
    assert world.core.topology.name == "sjf"
    decision = world.controller.decide(world.now_s)
    assert decision.sentence.startswith("hold fcfs: pin holds (rules wants edf")
    world.overrides = Overrides()
    world.run(1, late=0.5)
    assert world.core.topology.name == "fcfs"


def test_an_expired_pin_lets_go_by_itself() -> None:
    world = World()
    pin = Pin(topology="sjf", reason="r", owner="o", created_at_s=0.0, expires_at_s=5.0)
    world.overrides = Overrides(pin=pin)
    world.run(4)
    assert world.core.topology.name == "sjf"
    world.run(2)
    assert world.core.topology.name == "fcfs"


def test_kill_switch_beats_a_pin_and_unbinds_everything() -> None:
    world = World()
    pin = Pin(topology="sjf", reason="r", owner="o", created_at_s=0.0)
    kill = KillSwitch(reason="incident 7", owner="bob", created_at_s=0.0)
    world.overrides = Overrides(pin=pin, kill_switch=kill)
    world.run(1)
    assert world.sentence == "bypass: kill switch by bob until it is lifted: incident 7"
    assert world.core.bypass
    assert world.core.controls == UNBOUNDED
    world.overrides = Overrides()
    world.run(CYCLE_S)
    assert world.sentence == "resume fcfs: bypass ended"


def test_an_override_of_single_controls_is_obeyed_and_lifted() -> None:
    world = World()
    world.overrides = Overrides(
        controls=ControlOverride(n_run=8, token_budget=512, reason="r", owner="o", created_at_s=0.0)
    )
    world.run(1)
    assert (world.core.controls.n_run, world.core.controls.token_budget) == (8, 512)
    world.overrides = Overrides()
    world.run(1)
    assert world.core.controls.n_run == LIMITS.max_num_seqs


def test_stuck_requests_trip_the_bypass_and_it_ends() -> None:
    world = World(ControlConfig(initial_topology="edf"))
    world.run(10, waiting=9, running=0)
    assert world.sentence == "bypass: 9 requests wait and none runs"
    assert world.core.bypass
    world.run(40)
    assert not world.core.bypass
    assert world.kinds().count(GuardKind.BYPASS_ON) == 1
    assert GuardKind.BYPASS_OFF in world.kinds()
    assert world.core.topology.name == "edf"


def test_a_refused_topology_is_taken_back_and_named() -> None:
    world = World()
    pin = Pin(topology="lifo", reason="r", owner="o", created_at_s=0.0)
    world.run(2)
    world.overrides = Overrides(pin=pin)
    world.run(2)
    assert world.sentence.startswith("hold fcfs: engine refused lifo: unknown topology 'lifo'")
    assert world.core.topology.name == "fcfs"
    assert world.kinds().count(GuardKind.NACK) == 1
    assert not world.core.lease_expired
    world.overrides = Overrides()
    world.run(CYCLE_S)
    assert world.sentence.startswith("hold fcfs")
    assert "refused" not in world.sentence


def test_a_refused_switch_of_the_slow_loop_reverts() -> None:
    world = World()
    world.run(30, late=0.5)
    world.controller.decide(world.now_s)
    directive = world.controller.cycle(world.now_s).directive
    assert directive is not None
    assert directive.topology == "edf"
    refusal = DirectiveReply(
        engine_id=ENGINE,
        boot_id="boot1",
        accepted=False,
        active_version=world.core.active_version,
        topology="fcfs",
        bypass=False,
        step=1,
        reason="in stock order",
    )
    world.controller.acknowledge(directive, refusal, world.now_s)
    world.run(CYCLE_S)
    assert world.results[-1].topology == "fcfs"
    assert world.controller.resume_state().topology == "fcfs"


def test_a_silent_engine_is_named_and_nothing_changes() -> None:
    world = World()
    world.run(20)
    issued = len(world.directives)
    for _ in range(80):
        world.now_s += CYCLE_S
        world.cycle()
    assert world.sentence == "hold fcfs: engine silent for 20 s"
    assert len(world.directives) == issued


def test_a_restarted_engine_gets_everything_again() -> None:
    world = World()
    world.run(20)
    version = world.core.active_version
    world.core = ExecutionCore(Identity(ENGINE, "boot2", "simulator", "1", "test"), LIMITS)
    world.run(1)
    assert world.core.active_version == version + 1
    assert GuardKind.REISSUE in world.kinds()


def test_a_description_with_new_limits_is_adopted() -> None:
    world = World()
    world.run(5)
    limits = msgspec.structs.replace(LIMITS, max_num_seqs=16)
    world.core = ExecutionCore(Identity(ENGINE, "boot2", "simulator", "1", "test"), limits)
    world.controller.describe(world.core.describe(), world.now_s)
    world.run(1)
    assert world.core.controls.n_run == 16


def test_a_restarted_daemon_goes_on_with_higher_versions() -> None:
    world = World()
    world.run(30, late=0.5)
    world.controller.decide(world.now_s)
    world.run(60)
    stored = msgspec.json.encode(world.controller.resume_state())
    resume = msgspec.json.decode(stored, type=ResumeState)
    heir = World(FCFS, resume)
    heir.core = world.core
    heir.now_s = world.now_s
    before = world.core.active_version
    first = heir.cycle()
    assert first.directive is not None
    assert first.directive.version > before
    assert first.directive.topology == "edf"
    assert first.directive.controls.fence is not None
    assert first.directive.controls.step_model == resume.step_model
    assert heir.controller.step_model == resume.step_model
    after = heir.controller.resume_state()
    changed = {"version"}
    for name in ResumeState.__struct_fields__:
        assert name in changed or getattr(after, name) == getattr(resume, name), name


def test_without_a_stored_state_the_engine_itself_tells_what_it_ran() -> None:
    active = Directive(
        engine_id=ENGINE,
        version=57,
        issued_at_s=0.0,
        ttl_s=5.0,
        topology="wfq",
        hints={"aging_every": 9.0},
    )
    result = EngineController(describe(active=active), FCFS).cycle(0.0)
    assert result.directive is not None
    assert (result.directive.version, result.directive.topology) == (58, "wfq")
    assert result.directive.hints == {"aging_every": 9.0}


def test_an_engine_that_does_not_offer_the_configured_topology_gets_the_baseline() -> None:
    controller = EngineController(describe(topologies=["fcfs", "mystery"]), ControlConfig())
    assert controller.cycle(0.0).topology == "fcfs"


def test_lost_batches_are_counted() -> None:
    world = World()
    world.controller.note_gap(3)
    world.run(1)
    assert world.results[-1].v_short.event_gaps == 3


def test_the_same_story_gives_the_same_directives() -> None:
    stories = []
    for _ in range(2):
        world = World()
        world.run(40, late=0.4)
        world.controller.decide(world.now_s)
        world.run(40, late=0.1)
        stories.append((world.directives, world.sentences()))
    assert stories[0] == stories[1]


@pytest.mark.parametrize("seed", range(5))
def test_no_topology_changes_faster_than_the_cool_down_whatever_the_llm_wants(seed: int) -> None:
    """The LLM asks for something else every ten seconds while quality jumps about."""
    noise, world = random.Random(seed), World()
    changes: list[tuple[float, str, Owner]] = []
    for _ in range(60):
        world.run(10, late=noise.choice([0.0, 0.2, 0.9]))
        name = noise.choice(["fcfs", "edf", "sjf", "two_lane", "wfq"])
        wish = Proposal(controller="llm", topology=name, reason="a hunch")
        world.controller.decide(world.now_s, [wish])
        last = world.results[-1]
        if not changes or changes[-1][1] != last.topology:
            changes.append((world.now_s, last.topology, last.owner))
    config = FCFS.rollback
    previous_s = None
    for at_s, _, owner in changes[1:]:
        if owner is Owner.META and previous_s is not None:
            assert at_s - previous_s >= min(config.window_s, config.cool_down_s) - 10
        previous_s = at_s
