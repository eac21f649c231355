"""Directives on their way: one at a time, the newest first, every answer noted once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from hmas.daemon.control.engines import Delivery, ManagedEngine
from hmas.daemon.control.sender import DirectiveSender
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import FakeClock
from hmas.storage.records import AckState
from tests.daemon.control.support import FakeLink, cycle_result, directive, managed, until

Noted = list[tuple[int, AckState, str]]


class Bench:
    """A sender, one engine, and what was noted."""

    def __init__(self) -> None:
        self.clock = FakeClock(100.0)
        self.tasks = Tasks()
        self.noted: Noted = []
        self.link = FakeLink(self.clock)
        self.engine = managed(self.link)
        self.sender = DirectiveSender(self.clock, self.tasks, self._note)

    def _note(self, _: ManagedEngine, delivery: Delivery) -> None:
        self.noted.append((delivery.directive.version, delivery.ack, delivery.reason))

    def send(self, version: int, *, renewal: bool = False) -> Delivery:
        delivery = Delivery(directive(version), cycle_result(), renewal=renewal)
        self.sender.send(self.engine, delivery)
        return delivery

    async def settled(self) -> None:
        await until(lambda: not self.sender.is_busy("engine0"), "all sent")


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.tasks.close()


async def test_an_ack_is_noted(bench: Bench) -> None:
    bench.send(1)
    await bench.settled()
    assert bench.noted == [(1, AckState.ACKED, "")]
    assert bench.engine.reachable
    assert (bench.engine.confirmed_at_s, bench.engine.active_version) == (100.0, 1)


async def test_a_nack_keeps_what_is_active_and_is_no_confirmation(bench: Bench) -> None:
    bench.link.refuse = "n_run above max_num_seqs"
    bench.send(1)
    await bench.settled()
    assert bench.noted == [(1, AckState.NACKED, "n_run above max_num_seqs")]
    assert bench.engine.reachable
    assert bench.engine.confirmed_at_s is None


async def test_a_silent_engine_is_unreachable_with_a_reason(bench: Bench) -> None:
    bench.link.unreachable = "no answer within 1 s"
    bench.send(1)
    await bench.settled()
    assert bench.noted == [(1, AckState.UNREACHABLE, "no answer within 1 s")]
    assert (bench.engine.reachable, bench.engine.problem) == (False, "no answer within 1 s")


async def test_only_the_newest_waits_for_a_slow_engine(bench: Bench) -> None:
    bench.link.hold = asyncio.Event()
    bench.send(1)
    await until(lambda: len(bench.link.sent) == 1, "first sent")
    for version in (2, 3, 4):
        bench.send(version)
    bench.link.hold.set()
    await bench.settled()
    assert [sent.version for sent in bench.link.sent] == [1, 4]
    assert bench.noted == [
        (2, AckState.UNREACHABLE, "overtaken by a newer directive"),
        (3, AckState.UNREACHABLE, "overtaken by a newer directive"),
        (1, AckState.ACKED, ""),
        (4, AckState.ACKED, ""),
    ]


async def test_a_renewal_is_worth_a_note_only_when_refused(bench: Bench) -> None:
    bench.send(1)
    await bench.settled()
    bench.clock.advance(1.0)
    bench.send(1, renewal=True)
    await bench.settled()
    assert bench.engine.confirmed_at_s == 101.0
    bench.link.unreachable = "gone"
    bench.send(1, renewal=True)
    await bench.settled()
    bench.link.unreachable, bench.link.refuse = "", "in stock order after an internal fault"
    bench.send(1, renewal=True)
    await bench.settled()
    assert bench.noted == [
        (1, AckState.ACKED, ""),
        (1, AckState.NACKED, "in stock order after an internal fault"),
    ]


async def test_the_start_of_the_engine_is_remembered(bench: Bench) -> None:
    bench.send(1)
    await bench.settled()
    assert bench.engine.boot_id == "boot1"
    bench.link.restart("boot2")
    bench.send(2)
    await bench.settled()
    assert bench.engine.boot_id == "boot2"
