"""Shared by the tests of the control loop: engines that answer, records that stay in a list."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import zmq.asyncio

from hmas.controllers.decisions import CycleResult, Owner
from hmas.controllers.views import VShort
from hmas.daemon.control.engines import ManagedEngine
from hmas.daemon.links import EngineLink, EventReceiver, RequestLink, UnreachableError
from hmas.engine.clock import Clock
from hmas.engine.core import ExecutionCore, Identity
from hmas.engine.directive import (
    ControlReply,
    ControlRequest,
    Describe,
    Directive,
    DirectiveReply,
    EngineDescription,
    EngineLimits,
)
from hmas.engine.link.config import LinkConfig
from hmas.engine.link.endpoint import ControlEndpoint
from hmas.storage.records import Record

LIMITS = EngineLimits(
    max_num_seqs=64, max_num_batched_tokens=2048, kv_blocks=2048, block_size=16, max_model_len=4096
)


class Records:
    """A recorder that keeps everything in order."""

    def __init__(self) -> None:
        self.kept: list[Record] = []

    def submit(self, record: Record) -> None:
        self.kept.append(record)

    def of(self, kind: type[Record]) -> list[Record]:
        return [record for record in self.kept if isinstance(record, kind)]


class FakeLink:
    """An engine at the end of a wire: an :class:`ExecutionCore` that answers at once.

    ``unreachable`` makes it silent, ``hold`` makes answers wait.
    """

    def __init__(self, clock: Clock, engine_id: str = "engine0", boot_id: str = "boot1") -> None:
        self.clock = clock
        self.core = ExecutionCore(identity(engine_id, boot_id), LIMITS)
        self.sent: list[Directive] = []
        self.unreachable = ""
        self.refuse = ""
        self.hold: asyncio.Event | None = None
        self.events = FakeEvents()
        self.closed = False

    def restart(self, boot_id: str) -> None:
        self.core = ExecutionCore(identity(self.core.identity.engine_id, boot_id), LIMITS)

    async def describe(self) -> EngineDescription:
        if self.unreachable:
            raise UnreachableError(self.unreachable)
        return self.core.describe()

    async def send(self, directive: Directive) -> DirectiveReply:
        self.sent.append(directive)
        if self.hold is not None:
            await self.hold.wait()
        if self.unreachable:
            raise UnreachableError(self.unreachable)
        if self.refuse:
            return self.core.refuse(self.refuse)
        return self.core.apply(directive, self.clock.now_s())

    def close(self) -> None:
        self.closed = True


class FakeEvents:
    """Counters of a receiver that receives nothing."""

    def __init__(self) -> None:
        self.missed_batches = 0
        self.dropped_events = 0


def identity(engine_id: str = "engine0", boot_id: str = "boot1") -> Identity:
    return Identity(engine_id, boot_id, "simulator", "1", "tiny")


def managed(link: FakeLink, found_at_s: float = 0.0) -> ManagedEngine:
    """An engine of the fleet behind a fake link."""
    config = LinkConfig.local(link.core.identity.engine_id, Path("/run/hmas"))
    return ManagedEngine(config=config, link=link, configured=True, found_at_s=found_at_s)


def directive(version: int = 1, topology: str = "edf", engine_id: str = "engine0") -> Directive:
    return Directive(
        engine_id=engine_id, version=version, issued_at_s=1.0, ttl_s=5.0, topology=topology
    )


def cycle_result(
    new: Directive | None = None,
    renew: Directive | None = None,
    *,
    owner: Owner = Owner.META,
    topology: str = "edf",
    sentence: str = "hold edf: violation rate 0.04 within band",
    at_s: float = 1.0,
) -> CycleResult:
    return CycleResult(
        v_short=VShort(at_s=at_s, engine_id="engine0"),
        directive=new,
        renew=renew or new,
        owner=owner,
        topology=topology,
        sentence=sentence,
    )


@contextmanager
def served_engine(
    directory: Path, clock: Clock, engine_id: str = "engine0", boot_id: str = "boot1"
) -> Iterator[tuple[ControlEndpoint, ExecutionCore]]:
    """A real control endpoint over a core: what the plug-in and the simulator have."""
    core = ExecutionCore(identity(engine_id, boot_id), LIMITS)

    def answer(request: ControlRequest) -> ControlReply:
        if isinstance(request, Describe):
            return core.describe()
        return core.apply(request, clock.now_s())

    endpoint = ControlEndpoint(
        LinkConfig.local(engine_id, directory), answer, boot_id=boot_id, flush_s=0.01
    )
    endpoint.start()
    try:
        yield endpoint, core
    finally:
        endpoint.close()


def real_link(context: zmq.asyncio.Context, config: LinkConfig, timeout_s: float) -> EngineLink:
    requests = RequestLink(context, config.control_endpoint, timeout_s=timeout_s)
    return EngineLink(
        requests, EventReceiver.connected(context, config.events_endpoint, lambda _: None)
    )


async def until(
    holds: Callable[[], bool | Awaitable[bool]], what: str, timeout_s: float = 20.0
) -> None:
    """Wait for a condition; name it when it never comes."""
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                result = holds()
                if (await result) if isinstance(result, Awaitable) else result:
                    return
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"never happened: {what}") from None
