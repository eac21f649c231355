"""The daemon's end of the control link against the engine's real one."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zmq
import zmq.asyncio
from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.links import (
    EngineLink,
    EventReceiver,
    NoticeSender,
    RequestLink,
    SequenceWatch,
    UnreachableError,
)
from hmas.daemon.tasks import Tasks
from hmas.engine import wire
from hmas.engine.directive import (
    ControlReply,
    ControlRequest,
    Describe,
    Directive,
    DirectiveReply,
    EngineDescription,
    EngineLimits,
)
from hmas.engine.events import ControlNotice, EngineNotice, EventBatch, StepStats
from hmas.engine.link.config import LinkConfig
from hmas.engine.link.curve import CurveKeys, create_keys
from hmas.engine.link.endpoint import ControlEndpoint

LIMITS = EngineLimits(
    max_num_seqs=8, max_num_batched_tokens=512, kv_blocks=64, block_size=16, max_model_len=2048
)


def answer(request: ControlRequest) -> ControlReply:
    if isinstance(request, Describe):
        return EngineDescription(
            engine_id="engine0",
            boot_id="boot",
            kind="simulator",
            kind_version="1",
            model="tiny",
            rank=0,
            limits=LIMITS,
            topologies=["fcfs", "edf"],
            active=None,
            lease_expired=False,
        )
    return DirectiveReply(
        engine_id="engine0",
        boot_id="boot",
        accepted=True,
        active_version=request.version,
        topology=request.topology,
        bypass=request.bypass,
        step=7,
    )


def directive(version: int = 1) -> Directive:
    return Directive(
        engine_id="engine0", version=version, issued_at_s=0.0, ttl_s=10.0, topology="edf"
    )


def step(number: int) -> StepStats:
    return StepStats(
        at_s=float(number),
        step=number,
        steps=1,
        busy_s=0.01,
        span_s=0.01,
        running=1,
        waiting=0,
        prefill_tokens=0,
        decode_tokens=1,
        context_tokens=10,
        sequences=1,
        kv_used=0.1,
        preemptions=0,
        token_budget=512,
        n_run=8,
        directive_version=0,
        topology="fcfs",
        bypass=False,
    )


def batch(sequence: int, boot_id: str = "boot", dropped: int = 0) -> EventBatch:
    return EventBatch(
        source="engine0",
        kind="engine",
        boot_id=boot_id,
        sequence=sequence,
        sent_at_s=0.0,
        events=[],
        dropped=dropped,
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture
def context() -> Iterator[zmq.asyncio.Context]:
    context = zmq.asyncio.Context()
    yield context
    context.destroy(linger=0)


@pytest.fixture
def config(tmp_path: Path) -> LinkConfig:
    return LinkConfig.local("engine0", tmp_path / "run")


def link_to(
    context: zmq.asyncio.Context,
    config: LinkConfig,
    handle: Callable[[EventBatch], None] = lambda _: None,
    timeout_s: float = 5.0,
) -> EngineLink:
    return EngineLink(
        RequestLink(context, config.control_endpoint, timeout_s=timeout_s, curve=config.curve),
        EventReceiver.connected(context, config.events_endpoint, handle, config.curve),
    )


async def test_asks_and_sends(context: zmq.asyncio.Context, config: LinkConfig) -> None:
    endpoint = ControlEndpoint(config, answer)
    endpoint.start()
    link = link_to(context, config)
    try:
        assert (await link.describe()).limits == LIMITS
        replies = await asyncio.gather(*(link.send(directive(n)) for n in range(1, 20)))
        assert [reply.active_version for reply in replies] == list(range(1, 20))
    finally:
        link.close()
        endpoint.close()


async def test_a_dead_engine_is_unreachable_and_comes_back(
    context: zmq.asyncio.Context, config: LinkConfig
) -> None:
    link = link_to(context, config, timeout_s=0.1)
    with pytest.raises(UnreachableError, match=r"no answer from .*engine0\.control within 0\.1 s"):
        await link.describe()
    endpoint = ControlEndpoint(config, answer)
    endpoint.start()
    try:
        async with asyncio.timeout(10):
            while True:
                try:
                    assert (await link.send(directive())).accepted
                    break
                except UnreachableError:
                    continue
    finally:
        link.close()
        endpoint.close()


async def test_an_answer_of_the_wrong_kind_is_unreachable(
    context: zmq.asyncio.Context, config: LinkConfig
) -> None:
    reply = answer(Describe())
    endpoint = ControlEndpoint(config, lambda _: reply)
    endpoint.start()
    link = link_to(context, config)
    try:
        with pytest.raises(UnreachableError, match="answered a directive with a description"):
            await link.send(directive())
    finally:
        link.close()
        endpoint.close()


async def test_hears_events_over_curve_tcp(context: zmq.asyncio.Context, tmp_path: Path) -> None:
    keys: CurveKeys = create_keys(tmp_path / "keys")
    control, events = free_port(), free_port()
    config = LinkConfig(
        engine_id="engine0",
        control_endpoint=f"tcp://127.0.0.1:{control}",
        events_endpoint=f"tcp://127.0.0.1:{events}",
        curve=keys,
    )
    endpoint = ControlEndpoint(config, answer, flush_s=0.01)
    endpoint.start()
    heard: asyncio.Queue[EventBatch] = asyncio.Queue()
    link = link_to(context, config, heard.put_nowait)
    tasks = Tasks()
    tasks.start(link.events.run(), name="events")
    try:
        assert (await link.describe()).model == "tiny"
        async with asyncio.timeout(10):
            number = 0
            while heard.empty():
                number += 1
                endpoint.publish(step(number))
                await asyncio.sleep(0.01)
            received = await heard.get()
        assert received.source == "engine0"
        assert isinstance(received.events[0], StepStats)
        assert link.events.watches["engine0"].missed_batches == 0
    finally:
        await tasks.close()
        link.close()
        endpoint.close()


async def test_gateways_speak_and_listen(context: zmq.asyncio.Context, tmp_path: Path) -> None:
    heard: asyncio.Queue[EventBatch] = asyncio.Queue()
    events = f"ipc://{tmp_path}/run/gateway-events"
    notices = f"ipc://{tmp_path}/run/notices"
    receiver = EventReceiver.bound(context, events, heard.put_nowait)
    sender = NoticeSender(context, notices)
    tasks = Tasks()
    tasks.start(receiver.run(), name="gateways")
    publisher, subscriber = context.socket(zmq.PUB), context.socket(zmq.SUB)
    subscriber.setsockopt(zmq.SUBSCRIBE, b"")
    publisher.connect(events)
    subscriber.connect(notices)
    notice = ControlNotice(
        at_s=1.0,
        engines=[
            EngineNotice(engine_id="engine0", topology="edf", bypass=False, directive_version=3)
        ],
    )
    try:
        async with asyncio.timeout(10):
            while heard.empty():
                await publisher.send(b"not ours")
                await publisher.send(wire.encode(batch(1)))
                await asyncio.sleep(0.01)
            while not await subscriber.poll(10):
                await sender.send(notice)
            assert wire.decode_notice(await subscriber.recv()) == notice
        assert receiver.unreadable > 0
        assert (tmp_path / "run" / "notices").stat().st_mode & 0o777 == 0o600
    finally:
        await tasks.close()
        for closing in (receiver, sender, publisher, subscriber):
            closing.close()


def test_gaps_count_per_start_of_the_source() -> None:
    watch = SequenceWatch()
    assert [watch.see(batch(n)) for n in (5, 6, 9, 10)] == [0, 0, 2, 0]
    watch.see(batch(11, dropped=4))
    assert watch.see(batch(1, "next")) == 0
    assert watch.see(batch(2, "next", dropped=3)) == 0
    assert watch.missed_batches == 2
    assert watch.dropped_events == 7


@given(st.sets(st.integers(2, 200)))
def test_every_missing_batch_is_counted_once(lost: set[int]) -> None:
    watch = SequenceWatch()
    for sequence in range(1, 202):
        if sequence not in lost:
            watch.see(batch(sequence))
    assert watch.missed_batches == len(lost)
