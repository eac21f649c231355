from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
import zmq.asyncio

from hmas.daemon.gateway.link import NOTICE_LIFETIME_S, GatewayLink, LinkEndpoints
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.clock import FakeClock
from hmas.engine.directive import StepModel
from hmas.engine.events import (
    ControlNotice,
    EngineNotice,
    EventBatch,
    RequestArrived,
    RequestShed,
    ShedReason,
)
from hmas.engine.features import RequestFeatures
from hmas.engine.link.curve import create_keys, secure_server
from hmas.engine.link.outbox import Outbox
from hmas.engine.wire import decode_batch, encode


class Daemon:
    """The daemon's two sockets."""

    def __init__(self, runtime_dir: Path) -> None:
        self.context = zmq.asyncio.Context()
        self.events = self.context.socket(zmq.SUB)
        self.events.setsockopt(zmq.SUBSCRIBE, b"")
        self.events.bind(f"ipc://{runtime_dir}/gateway-events")
        self.notices = self.context.socket(zmq.PUB)
        self.notices.bind(f"ipc://{runtime_dir}/notices")

    async def batch(self) -> EventBatch:
        return decode_batch(await self.events.recv())

    async def notify(self, notice: ControlNotice) -> None:
        await self.notices.send(encode(notice))

    def close(self) -> None:
        self.context.destroy(linger=0)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    running = Daemon(tmp_path)
    yield running
    running.close()


def link_to(runtime_dir: Path, clock: FakeClock, **options: Any) -> GatewayLink:
    endpoints = LinkEndpoints.of(GatewaySettings(), runtime_dir)
    outbox = Outbox("gateway0-w0", "boot", clock, kind="gateway", **options)
    return GatewayLink(endpoints, outbox, clock, flush_s=0.01)


def event(number: int) -> RequestArrived:
    features = RequestFeatures(request_id=f"r{number}", arrival_s=1.0)
    return RequestArrived(at_s=1.0, features=features)


STEP = StepModel(base_ms=1, prefill_ms=2, context_ms=3, sequence_ms=4)


def notice(
    topology: str, *, bypass: bool = False, step_model: StepModel | None = STEP
) -> ControlNotice:
    engine = EngineNotice(
        engine_id="engine0",
        topology=topology,
        bypass=bypass,
        directive_version=1,
        step_model=step_model,
    )
    return ControlNotice(at_s=1.0, engines=[engine])


async def test_events_and_notices(daemon: Daemon, tmp_path: Path) -> None:
    clock = FakeClock(5.0)
    link = link_to(tmp_path, clock)
    running = asyncio.ensure_future(link.run())  # noqa: TID251  ended by the test itself
    try:
        async with asyncio.timeout(10):
            while link.topology("engine0") is None:
                await daemon.notify(notice("edf"))
                await asyncio.sleep(0.02)
            assert link.topology("engine0") == "edf"
            assert link.topology("other") is None
            assert link.step_model("engine0") == STEP
            assert link.step_model("other") is None
            while link.topology("engine0") != "bypass":
                await daemon.notify(notice("edf", bypass=True, step_model=None))
                await asyncio.sleep(0.02)
            assert link.step_model("engine0") == STEP, "the last one that was trusted"
            receiving = asyncio.ensure_future(daemon.batch())  # noqa: TID251
            while not receiving.done():
                link.put(event(1))
                await asyncio.sleep(0.02)
            batch = receiving.result()
    finally:
        running.cancel()
        link.close()
    assert (batch.source, batch.kind, batch.boot_id) == ("gateway0-w0", "gateway", "boot")
    assert batch.events[0] == event(1)


async def test_an_old_notice_is_no_longer_shown(daemon: Daemon, tmp_path: Path) -> None:
    clock = FakeClock(5.0)
    link = link_to(tmp_path, clock)
    running = asyncio.ensure_future(link.run())  # noqa: TID251
    async with asyncio.timeout(10):
        while link.topology("engine0") is None:
            await daemon.notices.send(b"not a notice")
            await daemon.notify(notice("sjf"))
            await asyncio.sleep(0.02)
    running.cancel()
    clock.advance(NOTICE_LIFETIME_S + 1)
    assert link.topology("engine0") is None
    link.close()


def test_without_a_daemon_nothing_waits_and_a_full_buffer_is_counted(tmp_path: Path) -> None:
    link = link_to(tmp_path, FakeClock(), capacity=10)
    for number in range(25):
        link.put(event(number))
    assert link.dropped == 15
    link.flush()
    link.put(RequestShed(at_s=1.0, features=event(1).features, reason=ShedReason.SATURATED))
    link.flush()
    assert link.dropped == 15
    link.close()


async def test_over_tcp_with_curve_keys(tmp_path: Path) -> None:
    keys = create_keys(tmp_path / "keys")
    context = zmq.asyncio.Context()
    events = context.socket(zmq.SUB)
    secure_server(events, keys)
    events.setsockopt(zmq.SUBSCRIBE, b"")
    port = events.bind_to_random_port("tcp://127.0.0.1")
    settings = GatewaySettings.model_validate(
        {"events_endpoint": f"tcp://127.0.0.1:{port}", "curve_dir": str(tmp_path / "keys")}
    )
    clock = FakeClock()
    outbox = Outbox("gateway0-w0", "boot", clock, kind="gateway")
    link = GatewayLink(LinkEndpoints.of(settings, tmp_path), outbox, clock, flush_s=0.01)
    try:
        receiving = asyncio.ensure_future(events.recv())  # noqa: TID251
        async with asyncio.timeout(10):
            while not receiving.done():
                link.put(event(1))
                link.flush()
                await asyncio.sleep(0.02)
        assert decode_batch(receiving.result()).events[0] == event(1)
    finally:
        link.close()
        context.destroy(linger=0)
