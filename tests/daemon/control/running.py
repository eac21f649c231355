"""A daemon's inside without processes: loop, port and health over one fake engine."""

from __future__ import annotations

from hmas.controllers.config import ControlConfig
from hmas.controllers.engine_controller import EngineController
from hmas.controllers.meta.base import Refusal, RefusalKind
from hmas.daemon.control.advisers import Advisers
from hmas.daemon.control.engines import Fleet
from hmas.daemon.control.executor import Executor
from hmas.daemon.control.health import Health
from hmas.daemon.control.loop import ControlLoop
from hmas.daemon.control.overrides import OverrideBook
from hmas.daemon.control.port import DaemonPort
from hmas.daemon.control.runner import Loop
from hmas.daemon.links import EventReceiver
from hmas.daemon.tasks import Tasks
from hmas.daemon.wire import LlmHealth
from hmas.engine.clock import FakeClock
from hmas.storage.errors import StorageError
from hmas.storage.memory import MemoryStore
from hmas.storage.store import Store
from hmas.storage.writer import RecordWriter
from tests.daemon.control.support import FakeLink, managed, until


class NoGateways(EventReceiver):
    """A receiver that hears nobody, without a socket."""

    def __init__(self) -> None:
        self.watches = {}


class Running:
    """``cycle`` is one turn of the fast loop, 0.25 s later."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.tasks = Tasks()
        self.store = MemoryStore()
        self.broken: StorageError | None = None
        self.writer = RecordWriter(self.store, clock)
        self.fleet = Fleet()
        self.link = FakeLink(clock)
        self.engine = managed(self.link)
        description = self.link.core.describe()
        self.engine.description = description
        self.engine.controller = EngineController(description, ControlConfig())
        self.fleet.add(self.engine)
        self.book = OverrideBook()
        self.executor = Executor(self.writer, clock, self.tasks)
        self.loop = ControlLoop(
            self.fleet,
            self.executor,
            self.book,
            clock=clock,
            tasks=self.tasks,
            advisers=Advisers(),
        )
        self.loops = [Loop("cycle", 0.25, self.loop.cycle, clock)]
        self.gateways = NoGateways()
        self.health = Health(
            self.fleet,
            self.gateways,
            self.writer,
            clock=clock,
            storage_kind="memory",
            loops=lambda: [loop.stats for loop in self.loops],
            llm=LlmHealth,
            refusals=self.executor.refusals,
            reloads={"done": 1},
        )
        self.port = DaemonPort(
            self.fleet,
            self.book,
            self.executor,
            self.health,
            store=self._open,
            flush=self.writer.flush,
            clock=clock,
            meta_mode="rules",
            window_s=10.0,
        )

    def _open(self) -> Store:
        if self.broken is not None:
            raise self.broken
        return self.store

    async def cycle(self, times: int = 1) -> None:
        for _ in range(times):
            self.clock.advance(0.25)
            await self.loops[0].run_once()
            await until(lambda: not self.tasks, "nothing runs any more")

    async def decide(self) -> None:
        """A decision that follows a refused answer."""
        assert self.engine.controller is not None
        refusal = Refusal(
            controller="llm", kind=RefusalKind.NOT_JSON, detail="Sure!", prompt_version=7
        )
        await self.cycle(60)
        decision = self.engine.controller.decide(self.clock.now_s(), [refusal])
        self.executor.decided(self.engine, decision)

    def flush(self) -> None:
        assert self.writer.flush(10.0)

    async def close(self) -> None:
        await self.tasks.close()
        self.writer.close()


def running_port(clock: FakeClock) -> DaemonPort:
    """For the contract that every port keeps."""
    return Running(clock).port
