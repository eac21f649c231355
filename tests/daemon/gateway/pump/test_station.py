"""Pumps of a running gateway before scripted engines, steered over their control link."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import zmq.asyncio

from hmas.bench.scripted_engine import Behaviour, ScriptedEngine
from hmas.daemon.gateway.app import Surroundings
from hmas.daemon.gateway.local import LocalGateway
from hmas.daemon.gateway.pump.pump import Pump
from hmas.daemon.gateway.settings import EngineTarget
from hmas.daemon.links import EngineLink, EventReceiver, RequestLink
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import Clock, FakeClock, SystemClock
from hmas.engine.directive import Controls, Directive
from hmas.engine.events import Event, EventBatch, RequestArrived, RequestFinished, RequestFirstToken
from hmas.engine.link.config import LinkConfig
from hmas.engine.topologies import topology_names
from tests.daemon.gateway.pump.support import Broken

StartGateway = Callable[..., Awaitable[LocalGateway]]
Reply = tuple[int, dict[str, str], bytes]


@dataclass
class Plane:
    """A gateway, the clients before it and the daemon's end of one pump's link."""

    gateway: LocalGateway
    session: aiohttp.ClientSession
    link: EngineLink
    clock: Clock
    tasks: Tasks = field(default_factory=Tasks)
    events: list[Event] = field(default_factory=list)
    version: int = 0

    @property
    def pump(self) -> Pump:
        pump = self.gateway.app.pool.engines[0].pump
        assert pump is not None
        return pump

    def hear(self, batch: EventBatch) -> None:
        self.events.extend(batch.events)

    async def steer(self, topology: str = "fcfs", **fields: Any) -> None:
        self.version += 1
        fields.setdefault("controls", Controls(n_run=1))
        directive = Directive(
            engine_id="engine0",
            version=self.version,
            issued_at_s=self.clock.now_s(),
            ttl_s=60.0,
            topology=topology,
            **fields,
        )
        reply = await self.link.send(directive)
        assert reply.accepted, reply.reason

    def ask(self, name: str, slo_ttft_ms: int = 60_000) -> asyncio.Task[Reply]:
        """A client's streamed completion."""
        headers = {"x-request-id": name, "x-slo-ttft-ms": str(slo_ttft_ms)}
        body = {"model": "tiny", "prompt": "x", "stream": True}

        async def post() -> Reply:
            url = f"{self.gateway.url}/v1/completions"
            async with self.session.post(url, json=body, headers=headers) as answer:
                return answer.status, dict(answer.headers), await answer.read()

        return self.tasks.start(post(), name=name)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds():  # noqa: ASYNC110  many things move, none of them notifies
                await asyncio.sleep(0.01)

    async def fill(self, *names: str) -> list[asyncio.Task[Reply]]:
        """One request after the other, each of them inside before the next one comes."""
        asked = []
        for name in names:
            held = self.pump.waiting + self.pump.running
            asked.append(self.ask(name))
            await self.until(lambda held=held: self.pump.waiting + self.pump.running > held)
        return asked


def seen(engine: ScriptedEngine) -> list[str]:
    return [request.headers["x-request-id"] for request in engine.seen]


StartPlane = Callable[..., Awaitable[Plane]]


@pytest.fixture
async def start_plane(
    stack: AsyncExitStack, start: StartGateway, tmp_path: Path
) -> AsyncIterator[StartPlane]:
    context = zmq.asyncio.Context()

    async def begin(
        *engines: ScriptedEngine | EngineTarget,
        clock: Clock | None = None,
        target: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Plane:
        used = clock or SystemClock()
        run = tmp_path / "run"
        gateway = await start(
            *engines,
            runtime_dir=run,
            surroundings=Surroundings(clock=used),
            target={"pump": True} | (target or {}),
            **settings,
        )
        config = LinkConfig.local("engine0", run)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        events = EventReceiver.connected(context, config.events_endpoint, lambda _: None)
        requests = RequestLink(context, config.control_endpoint, timeout_s=10)
        plane = Plane(gateway, session, EngineLink(requests, events), used)
        events.handle = plane.hear
        plane.tasks.start(events.run(), name="events")
        stack.push_async_callback(plane.tasks.close)
        stack.callback(plane.link.close)
        return plane

    yield begin
    await stack.aclose()
    context.destroy(linger=0)


async def test_the_daemon_sees_an_engine(start_plane: StartPlane, engine: ScriptedEngine) -> None:
    plane = await start_plane(engine)
    told = await plane.link.describe()
    assert (told.engine_id, told.kind, told.model) == ("engine0", "pump", "tiny")
    assert (told.limits.max_num_seqs, told.topologies) == (256, list(topology_names()))


async def test_requests_reach_the_engine_in_the_topologys_order(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    gate = asyncio.Event()
    engine.default = Behaviour(hold=gate)
    plane = await start_plane(engine)
    await plane.steer("edf")
    asked = await plane.fill("first")
    for name, slo_ttft_ms in (("later", 50_000), ("urgent", 9_000), ("soon", 20_000)):
        asked.append(plane.ask(name, slo_ttft_ms))
    await plane.until(lambda: plane.pump.waiting == 3)
    assert seen(engine) == ["first"]
    gate.set()
    answers = await asyncio.gather(*asked)
    assert seen(engine) == ["first", "urgent", "soon", "later"]
    assert {answer[0] for answer in answers} == {200}
    assert float(answers[1][1]["X-Hmas-Queue-Ms"]) > 0
    assert answers[1][1]["X-Hmas-Topology"] == "edf"
    await plane.until(lambda: plane.pump.running == 0)
    assert plane.gateway.app.pool.engines[0].in_flight == 0


async def test_what_the_daemon_hears(start_plane: StartPlane, engine: ScriptedEngine) -> None:
    plane = await start_plane(engine)
    await plane.until(lambda: bool(plane.events))
    status, _, _ = await plane.ask("r")
    assert status == 200

    def kinds() -> list[type]:
        named = (RequestArrived, RequestFirstToken, RequestFinished)
        return [type(event) for event in plane.events if isinstance(event, named)]

    await plane.until(lambda: len(kinds()) == 3)
    assert kinds() == [RequestArrived, RequestFirstToken, RequestFinished]


async def test_topologies_change_under_load_and_nothing_is_lost(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    engine.default = Behaviour(chunks=2, interval_s=0.002)
    plane = await start_plane(engine)
    asked = []
    for number in range(120):
        if number % 12 == 0:
            name = topology_names()[number // 12 % len(topology_names())]
            await plane.steer(name, controls=Controls(n_run=1 + number // 30))
        asked.append(plane.ask(f"r{number}"))
        await asyncio.sleep(0)
    answers = await asyncio.gather(*asked)
    assert {status for status, _, _ in answers} == {200}
    assert all(body.endswith(b"data: [DONE]\n\n") for _, _, body in answers)
    assert sorted(seen(engine)) == sorted(f"r{number}" for number in range(120))
    assert plane.pump.faults == 0


async def test_a_client_that_leaves_while_it_waits_never_reaches_the_engine(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    gate = asyncio.Event()
    engine.default = Behaviour(hold=gate)
    plane = await start_plane(engine)
    await plane.steer()
    first, leaving, last = await plane.fill("first", "leaving", "last")
    leaving.cancel()
    await plane.until(lambda: plane.pump.waiting == 1)
    gate.set()
    assert [(await first)[0], (await last)[0]] == [200, 200]
    assert seen(engine) == ["first", "last"]


async def test_a_client_that_leaves_while_it_runs_makes_room(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    engine.script.append(Behaviour(hold=asyncio.Event()))
    plane = await start_plane(engine)
    await plane.steer()
    leaving, last = await plane.fill("leaving", "last")
    await engine.until(lambda e: e.running == 1)
    leaving.cancel()
    assert (await last)[0] == 200
    assert engine.aborted == 1
    await plane.until(lambda: plane.pump.core.running == 0)


async def test_an_engine_that_goes_down_and_returns_finds_all_who_waited(
    start_plane: StartPlane, stack: AsyncExitStack
) -> None:
    gate = asyncio.Event()
    down, back = ScriptedEngine(default=Behaviour(hold=gate)), ScriptedEngine()
    serving = AsyncExitStack()
    url = await serving.enter_async_context(down.serving())
    plane = await start_plane(EngineTarget.model_validate({"url": url, "pump": True}))
    await plane.steer()
    first, *others = await plane.fill("first", "a", "b", "c")
    await down.until(lambda e: e.running == 1)
    await serving.aclose()
    await plane.until(lambda: not plane.gateway.app.pool.engines[0].is_up)
    await stack.enter_async_context(back.serving(int(url.rpartition(":")[2])))
    answers = await asyncio.gather(first, *others)
    assert {status for status, _, _ in answers} == {200}
    assert sorted(seen(back)) == ["a", "b", "c", "first"]


async def test_a_refusing_engine_finds_all_who_waited(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    engine.script.extend([Behaviour(status=503)] * 3)
    plane = await start_plane(engine)
    await plane.steer()
    asked = [plane.ask(f"r{number}") for number in range(8)]
    assert {status for status, _, _ in await asyncio.gather(*asked)} == {200}
    assert plane.pump.holds(plane.clock.now_s())


async def test_who_waits_for_a_lost_engine_moves_to_another(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    lost = ScriptedEngine(default=Behaviour(hold=asyncio.Event()))
    serving = AsyncExitStack()
    url = await serving.enter_async_context(lost.serving())
    target = EngineTarget.model_validate({"engine_id": "engine0", "url": url, "pump": True})
    full = asyncio.Event()
    engine.default = Behaviour(hold=full)
    plane = await start_plane(target, engine, target={"pump": False, "max_in_flight": 2})
    await plane.steer()
    asked = [plane.ask(f"r{number}") for number in range(6)]
    await engine.until(lambda e: e.running == 2)
    await lost.until(lambda e: e.running == 1)
    await plane.until(lambda: plane.pump.waiting == 3)
    await serving.aclose()
    full.set()
    assert {status for status, _, _ in await asyncio.gather(*asked)} == {200}
    assert len(seen(engine)) == 6


async def test_those_who_wait_count_as_held(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    gate = asyncio.Event()
    engine.default = Behaviour(hold=gate)
    plane = await start_plane(engine, target={"max_in_flight": 2})
    await plane.steer()
    asked = await plane.fill("a", "b")
    status, headers, _ = await plane.ask("c")
    assert (status, headers["x-hmas-dropped-reason"]) == (429, "saturated")
    gate.set()
    assert {status for status, _, _ in await asyncio.gather(*asked)} == {200}


async def test_when_the_lease_ends_everything_goes_out(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    gate = asyncio.Event()
    engine.default = Behaviour(hold=gate)
    clock = FakeClock(1000.0)
    plane = await start_plane(engine, clock=clock)
    await plane.steer("sjf")
    asked = await plane.fill("a", "b", "c")
    clock.advance(61.0)
    await engine.until(lambda e: e.running == 3)
    assert (await plane.link.describe()).lease_expired
    gate.set()
    assert {status for status, _, _ in await asyncio.gather(*asked)} == {200}


async def test_a_fault_sends_everything_on_and_is_counted(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    gate = asyncio.Event()
    engine.default = Behaviour(hold=gate)
    plane = await start_plane(engine)
    await plane.steer()
    asked = await plane.fill("a", "b")
    plane.pump.core.topology = Broken()
    asked.append(plane.ask("c"))
    await engine.until(lambda e: e.running == 3)
    assert (await plane.link.describe()).doubt
    gate.set()
    assert {status for status, _, _ in await asyncio.gather(*asked)} == {200}

    async def scraped() -> str:
        async with plane.session.get(f"{plane.gateway.url}/metrics") as answer:
            return await answer.text()

    async with asyncio.timeout(10):
        while 'pump_faults_total{engine="engine0"} 1.0' not in await scraped():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_drain_waits_for_those_who_wait(
    start_plane: StartPlane, engine: ScriptedEngine
) -> None:
    gate = asyncio.Event()
    engine.default = Behaviour(hold=gate)
    plane = await start_plane(engine)
    await plane.steer()
    asked = await plane.fill("a", "b", "c")
    draining = plane.tasks.start(plane.gateway.app.admission.drain(20), name="drain")
    await plane.until(lambda: plane.gateway.app.admission.is_draining)
    assert (await plane.ask("late"))[0] == 503
    gate.set()
    assert await draining == 0
    assert {status for status, _, _ in await asyncio.gather(*asked)} == {200}


async def test_without_a_control_link_there_is_no_pump(
    engine: ScriptedEngine, start: StartGateway
) -> None:
    gateway = await start(engine, target={"pump": True})
    assert gateway.app.pool.engines[0].pump is None
