"""Engines are found, described, noticed when they restart, and forgotten when long gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import zmq.asyncio

from hmas.controllers.config import ControlConfig
from hmas.controllers.decisions import ResumeState
from hmas.daemon.control.discovery import FORGET_AFTER_S, Discovery, needs_description
from hmas.daemon.control.engines import Fleet
from hmas.daemon.control.router import EventRouter
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import FakeClock
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures
from hmas.engine.link.config import LinkConfig
from hmas.storage.records import RequestRecord
from tests.daemon.control.support import FakeLink, Records, managed, served_engine, until


class Bench:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = FakeClock(100.0)
        self.fleet = Fleet()
        self.tasks = Tasks()
        self.records = Records()
        self.context = zmq.asyncio.Context()
        self.resumes: dict[str, ResumeState] = {}
        self.router = EventRouter(self.fleet, self.clock, self.records)

    async def resume(self, engine_id: str) -> ResumeState | None:
        return self.resumes.get(engine_id)

    def discovery(self, *configured: LinkConfig, timeout_s: float = 5.0) -> Discovery:
        return Discovery(
            self.fleet,
            self.router,
            self.context,
            clock=self.clock,
            tasks=self.tasks,
            resume=self.resume,
            control=ControlConfig(),
            configured=configured,
            directory=self.directory,
            timeout_s=timeout_s,
        )


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path / "run")
    yield bench
    await bench.tasks.close()
    for engine in bench.fleet:
        engine.link.close()
    bench.context.destroy(linger=0)


async def test_engines_in_the_directory_are_found_and_controlled(bench: Bench) -> None:
    with ExitStack() as engines:
        for name in ("engine0", "engine1"):
            engines.enter_context(served_engine(bench.directory, bench.clock, name))
        await bench.discovery().look(100.0)
        assert sorted(engine.engine_id for engine, _ in bench.fleet.controlled()) == [
            "engine0",
            "engine1",
        ]


async def test_a_configured_engine_is_unreachable_until_it_is_there(bench: Bench) -> None:
    config = LinkConfig.local("engine0", bench.directory)
    discovery = bench.discovery(config, timeout_s=0.1)
    await discovery.look(100.0)
    [engine] = bench.fleet
    assert not engine.reachable
    assert "no answer from" in engine.problem
    with served_engine(bench.directory, bench.clock):
        async with asyncio.timeout(10):
            while not engine.reachable:
                await discovery.look(100.0)
    assert engine.controller is not None


async def test_the_past_of_an_engine_is_taken_up(bench: Bench) -> None:
    bench.resumes["engine0"] = ResumeState(
        engine_id="engine0", version=41, topology="sjf", stable_topology="sjf"
    )
    with served_engine(bench.directory, bench.clock):
        await bench.discovery().look(100.0)
    [engine] = bench.fleet
    assert engine.controller is not None
    result = engine.controller.cycle(100.0)
    assert result.directive is not None
    assert (result.directive.version, result.topology) == (42, "sjf")


async def test_a_restarted_engine_gets_a_new_directive(bench: Bench) -> None:
    discovery = bench.discovery()
    with served_engine(bench.directory, bench.clock, boot_id="boot1"):
        await discovery.look(100.0)
    [engine] = bench.fleet
    assert engine.controller is not None
    first = engine.controller.cycle(100.0).directive
    assert first is not None
    engine.lost("gone")
    with served_engine(bench.directory, bench.clock, boot_id="boot2"):
        async with asyncio.timeout(10):
            while not engine.reachable:
                await discovery.look(101.0)
    assert engine.boot_id == "boot2"
    again = engine.controller.cycle(101.0).directive
    assert again is not None
    assert again.version > first.version


async def test_events_of_a_found_engine_arrive(bench: Bench) -> None:
    with served_engine(bench.directory, bench.clock) as (endpoint, _):
        await bench.discovery().look(100.0)
        features = RequestFeatures(request_id="r1", arrival_s=1.0)
        event = RequestFinished(
            at_s=2.0,
            features=features,
            outcome=Outcome.COMPLETED,
            prompt_tokens=1,
            output_tokens=1,
            ttft_s=0.1,
            tpot_s=0.0,
        )

        def heard() -> bool:
            endpoint.publish(event)
            return bool(bench.records.of(RequestRecord))

        await until(heard, "an event of the engine")


async def test_a_found_engine_that_is_gone_for_long_is_forgotten(bench: Bench) -> None:
    discovery = bench.discovery(timeout_s=0.1)
    with served_engine(bench.directory, bench.clock):
        await discovery.look(100.0)
    [engine] = bench.fleet
    engine.lost("gone")
    await discovery.look(101.0)
    assert len(bench.fleet) == 1
    await discovery.look(100.0 + FORGET_AFTER_S + 1.0)
    assert len(bench.fleet) == 0


async def test_new_settings_keep_what_a_controller_learned(bench: Bench) -> None:
    discovery = bench.discovery()
    with served_engine(bench.directory, bench.clock):
        await discovery.look(100.0)
    [engine] = bench.fleet
    assert engine.controller is not None
    version = engine.controller.cycle(100.0).renew
    discovery.reconfigure(ControlConfig(ttl_s=9.0))
    result = engine.controller.cycle(100.0)
    assert result.directive is not None
    assert version is not None
    assert result.directive.version > version.version
    assert result.directive.ttl_s == 9.0


def test_who_must_describe_itself() -> None:
    link = FakeLink(FakeClock())
    engine = managed(link)
    assert needs_description(engine)
    engine.description = link.core.describe()
    engine.boot_id = "boot1"
    engine.seen(1.0)
    assert not needs_description(engine)
    engine.boot_id = "boot2"
    assert needs_description(engine)
