"""A pump before one engine, with a clock of its own, for the tests in here."""

from __future__ import annotations

import asyncio
from typing import Any

from hmas.daemon.gateway.engines import Engine
from hmas.daemon.gateway.limits import CountTable
from hmas.daemon.gateway.pump.meter import StepMeter
from hmas.daemon.gateway.pump.place import limits_of
from hmas.daemon.gateway.pump.pump import Pump
from hmas.daemon.gateway.pump.turn import Turn
from hmas.daemon.gateway.settings import EngineTarget
from hmas.daemon.tasks import Tasks
from hmas.engine.clock import FakeClock
from hmas.engine.core import Identity
from hmas.engine.directive import DirectiveReply
from hmas.engine.events import Event
from hmas.engine.topologies import QueuedRequest
from hmas.engine.topologies.baseline import Fcfs
from tests.engine.support import directive, features

OUTAGE_LIMIT_S = 60.0


class Station:
    """One pump before one engine, a clock, and what became of each request."""

    def __init__(self, **target: Any) -> None:
        self.clock = FakeClock(100.0)
        self.told: list[Event] = []
        self.tasks = Tasks()
        self.turns: dict[str, asyncio.Task[Turn | None]] = {}
        self.order: list[str] = []
        self.elsewhere = False
        settings = EngineTarget.model_validate({"pump": True, "pump_max_running": 64} | target)
        self.engine = Engine(settings, CountTable(2), 1)
        self.pump = Pump(
            Identity("e", "boot", "pump", "1", "tiny"),
            limits_of(settings, 0, 1),
            self.engine,
            self.clock,
            publish=self.told.append,
            elsewhere=lambda _: self.elsewhere,
            outage_limit_s=OUTAGE_LIMIT_S,
            meter=StepMeter(self.clock.now_s),
        )
        self.version = 0

    async def come(self, name: str, *, again: bool = False, **fields: Any) -> None:
        """A request arrives; it has started or waits when this returns."""

        async def wait() -> Turn | None:
            tagged = features(name, **{"arrival_s": self.clock.now_s()} | fields)
            turn = await self.pump.turn(tagged, "tiny", again=again)
            if turn is not None:
                self.order.append(name)
            return turn

        self.turns[name] = self.tasks.start(wait(), name=name)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    def turn(self, name: str) -> Turn:
        turn = self.turns[name].result()
        assert turn is not None
        return turn

    async def go(self, name: str) -> None:
        """The request ends."""
        self.pump.end(self.turn(name))
        await self.settle()

    async def leave(self, name: str) -> None:
        """Its client disconnects while it waits."""
        self.turns[name].cancel()
        await self.settle()

    def steer(self, topology: str = "fcfs", **fields: Any) -> DirectiveReply:
        self.version += 1
        reply = self.pump.answer(directive(self.version, topology, **fields))
        assert isinstance(reply, DirectiveReply)
        return reply

    async def tick(self, seconds: float = 0.05) -> None:
        self.clock.advance(seconds)
        self.pump.tick()
        await self.settle()


class Broken(Fcfs):
    """A topology that fails where it is asked who is next."""

    def _next(self, now_s: float) -> QueuedRequest | None:
        raise ZeroDivisionError("no order")
