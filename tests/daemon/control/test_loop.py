"""The control loop with a fake clock, an engine's core and records in a list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from hmas.controllers.config import ControlConfig
from hmas.controllers.engine_controller import EngineController
from hmas.controllers.meta.base import MetaContext, Outcome, Proposal, Refusal, RefusalKind
from hmas.controllers.overrides import Overrides
from hmas.daemon.control.advisers import Advisers
from hmas.daemon.control.engines import Fleet, ManagedEngine
from hmas.daemon.control.executor import Executor
from hmas.daemon.control.loop import ControlLoop
from hmas.daemon.control.overrides import OverrideBook
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import FakeClock
from hmas.engine.events import Outcome as RequestOutcome
from hmas.engine.events import RequestArrived, RequestFinished, RequestFirstToken
from hmas.engine.features import RequestFeatures
from hmas.storage.records import (
    AuditRecord,
    DecisionRecord,
    DecisionRole,
    OverrideKind,
    ResumeRecord,
    ViewRecord,
)
from tests.daemon.control.support import FakeLink, Records, managed, until


class Says:
    """An adviser with one answer."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.asked: list[MetaContext] = []
        self.hold: asyncio.Event | None = None

    async def propose(self, context: MetaContext) -> Outcome:
        self.asked.append(context)
        if self.hold is not None:
            await self.hold.wait()
        return self.outcome


class Broken(EngineController):
    """A controller with a bug."""

    def cycle(self, now_s: float, overrides: Overrides = Overrides()) -> None:  # type: ignore[override]  # noqa: B008
        raise ZeroDivisionError(f"at {now_s} with {overrides}")


class Bench:
    """One loop over as many engines as are added."""

    def __init__(self) -> None:
        self.clock = FakeClock(1000.0)
        self.tasks = Tasks()
        self.records = Records()
        self.fleet = Fleet()
        self.book = OverrideBook()
        self.loop = ControlLoop(
            self.fleet,
            Executor(self.records, self.clock, self.tasks),
            self.book,
            clock=self.clock,
            tasks=self.tasks,
            advisers=Advisers(),
        )

    def add(
        self, engine_id: str = "engine0", controller: type[EngineController] = EngineController
    ) -> tuple[ManagedEngine, FakeLink]:
        link = FakeLink(self.clock, engine_id)
        engine = managed(link)
        engine.controller = controller(link.core.describe(), ControlConfig())
        self.fleet.add(engine)
        return engine, link

    async def cycle(self, times: int = 1) -> None:
        for _ in range(times):
            self.clock.advance(0.25)
            await self.loop.cycle(self.clock.now_s())
            await self.settled()

    async def settled(self) -> None:
        await until(lambda: not self.tasks, "nothing runs any more")

    async def traffic(self, engine: ManagedEngine, seconds: int) -> None:
        """Four requests a second that all meet their targets."""
        assert engine.controller is not None
        for number in range(4 * seconds):
            at_s = self.clock.now_s()
            features = RequestFeatures(
                request_id=f"r{at_s}-{number}", arrival_s=at_s, prompt_tokens=100, known=True
            )
            engine.controller.observe(RequestArrived(at_s=at_s, features=features))
            engine.controller.observe(
                RequestFirstToken(at_s=at_s + 0.1, request_id=features.request_id, ttft_s=0.1)
            )
            engine.controller.observe(
                RequestFinished(
                    at_s=at_s + 0.2,
                    features=features,
                    outcome=RequestOutcome.COMPLETED,
                    prompt_tokens=100,
                    output_tokens=20,
                    ttft_s=0.1,
                    tpot_s=0.005,
                )
            )
            await self.cycle()

    def decisions(self) -> list[DecisionRecord]:
        return [r for r in self.records.of(DecisionRecord) if isinstance(r, DecisionRecord)]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.tasks.close()


async def test_the_first_cycle_gives_the_engine_a_directive(bench: Bench) -> None:
    _, link = bench.add()
    await bench.cycle()
    assert link.core.directive is not None
    assert link.core.directive.version == 1


async def test_a_pin_is_obeyed_in_the_next_cycle_and_lifted_when_it_ends(bench: Bench) -> None:
    engine, link = bench.add()
    await bench.cycle()
    bench.book.put(
        OverrideKind.PIN,
        "engine0",
        {"topology": "wfq"},
        reason="unfair",
        owner="op",
        now_s=bench.clock.now_s(),
        expires_at_s=bench.clock.now_s() + 1.0,
    )
    await bench.cycle()
    assert link.core.topology.name == "wfq"
    assert engine.last_cycle is not None
    assert "pinned wfq by op" in engine.last_cycle.sentence
    await bench.cycle(4)
    assert link.core.topology.name != "wfq"
    ended = [r for r in bench.records.of(AuditRecord) if r.action == "expire pin"]
    assert len(ended) == 1


async def test_the_kill_switch_means_plain_fcfs(bench: Bench) -> None:
    _, link = bench.add()
    bench.book.put(OverrideKind.BYPASS_SWITCH, "*", {}, reason="incident", owner="op", now_s=1000.0)
    await bench.cycle()
    assert link.core.bypass
    assert link.core.topology.name == "fcfs"


async def test_a_bug_in_one_controller_does_not_stop_the_others(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.add("broken", Broken)
    _, link = bench.add("engine1")
    await bench.cycle(2)
    assert link.core.directive is not None
    assert bench.loop.faults == {"broken": 2}
    assert "broken: cycle failed; its engine keeps its last directive" in caplog.text


async def test_a_silent_engine_does_not_stop_the_loop(bench: Bench) -> None:
    engine, link = bench.add()
    link.unreachable = "no answer"
    await bench.cycle(3)
    assert not engine.reachable
    link.unreachable = ""
    await bench.cycle()
    assert engine.reachable
    assert link.core.directive is not None


async def test_completed_windows_are_kept(bench: Bench) -> None:
    engine, _ = bench.add()
    await bench.traffic(engine, 25)
    long = [r for r in bench.records.of(ViewRecord) if r.horizon == "long"]
    assert len(long) == len(engine.history.long) >= 2


async def test_an_adviser_decides_and_its_shadow_is_only_recorded(bench: Bench) -> None:
    engine, link = bench.add()
    primary = Says(Proposal(controller="llm", topology="sjf", reason="length variance"))
    shadow = Says(Proposal(controller="other", topology="wfq", reason="unfair"))
    bench.loop.advisers = Advisers(primary, {"other": shadow})
    await bench.traffic(engine, 90)
    await bench.loop.meta(bench.clock.now_s())
    await bench.settled()
    await bench.cycle()
    assert primary.asked[0].active in link.core.describe().topologies
    first, beside = bench.decisions()[:2]
    assert (first.controller, first.topology, first.role) == ("llm", "sjf", DecisionRole.PRIMARY)
    assert (beside.controller, beside.topology, beside.role) == (
        "other",
        "wfq",
        DecisionRole.SHADOW,
    )
    assert link.core.topology.name == "sjf"
    assert bench.records.of(ResumeRecord)


async def test_a_refused_answer_is_recorded_and_the_rules_decide(bench: Bench) -> None:
    engine, _ = bench.add()
    refused = Refusal(controller="llm", kind=RefusalKind.NOT_JSON, detail="Sure!")
    bench.loop.advisers = Advisers(Says(refused))
    await bench.traffic(engine, 90)
    await bench.loop.meta(bench.clock.now_s())
    await bench.settled()
    [decision] = bench.decisions()
    assert decision.controller == "rules"
    assert decision.refusal_kind == "not_json"


async def test_a_hanging_adviser_holds_up_nobody(bench: Bench) -> None:
    engine, link = bench.add()
    await bench.traffic(engine, 90)
    asked = Says(Proposal(controller="llm", topology="sjf", reason="x"))
    asked.hold = asyncio.Event()
    bench.loop.advisers = Advisers(asked)
    for _ in range(3):
        await bench.loop.meta(bench.clock.now_s())
        bench.clock.advance(1.0)
        await bench.loop.cycle(bench.clock.now_s())
    await until(lambda: bool(asked.asked), "asked")
    sent = len(link.sent)
    bench.clock.advance(5.0)
    await bench.loop.cycle(bench.clock.now_s())
    await until(lambda: len(link.sent) > sent, "renewed while the adviser thinks")
    assert len(asked.asked) == 1
    asked.hold.set()
    await bench.settled()
    assert len(bench.decisions()) == 1


async def test_an_adviser_that_raises_is_a_fault_and_no_more(bench: Bench) -> None:
    class Raises:
        async def propose(self, context: MetaContext) -> Outcome:
            raise RuntimeError(context.engine_id)

    engine, _ = bench.add()
    await bench.traffic(engine, 90)
    bench.loop.advisers = Advisers(Raises())
    await bench.loop.meta(bench.clock.now_s())
    await bench.settled()
    assert bench.loop.faults == {"engine0": 1}
    await bench.cycle()


async def test_what_a_restart_needs_is_kept_for_every_engine(bench: Bench) -> None:
    bench.add("a")
    bench.add("b")
    await bench.loop.keep_resume_state(1000.0)
    assert {record.engine_id for record in bench.records.of(ResumeRecord)} == {"a", "b"}
