"""The engines under control: what the daemon knows of each, and how it finds them."""

from __future__ import annotations

import fcntl
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hmas.controllers.decisions import CycleResult, Decision, Owner
from hmas.controllers.engine_controller import EngineController
from hmas.controllers.views import VLong, VShort
from hmas.daemon.links import EngineLink
from hmas.engine.directive import Directive, EngineDescription
from hmas.engine.link.config import LinkConfig, LinkConfigError
from hmas.storage.records import AckState

HISTORY_POINTS = 3600
CONTROL_SUFFIX = ".control"


@dataclass(frozen=True, slots=True)
class Switch:
    """A moment at which the topology or the bypass of an engine changed."""

    at_s: float
    before: str
    after: str
    bypass: bool
    owner: Owner
    sentence: str


@dataclass(slots=True, eq=False)
class Delivery:
    """A directive on its way, the cycle that caused it, and what became of it.

    A renewal repeats what the engine runs already: only its refusal is worth a record.
    """

    directive: Directive
    result: CycleResult
    renewal: bool = False
    ack: AckState = AckState.PENDING
    reason: str = ""
    answered_at_s: float | None = None
    step: int | None = None


@dataclass(slots=True)
class History:
    """Recent past in memory, oldest first; all of it is in storage too."""

    short: deque[VShort] = field(default_factory=lambda: deque(maxlen=HISTORY_POINTS))
    long: deque[VLong] = field(default_factory=lambda: deque(maxlen=HISTORY_POINTS))
    switches: deque[Switch] = field(default_factory=lambda: deque(maxlen=500))


@dataclass(slots=True, eq=False)
class ManagedEngine:
    """One engine (or data-parallel rank): its link, its controller, its present state.

    ``controller`` is None until the engine has described itself once. ``confirmed_at_s`` is
    when it last accepted a directive, so its lease ends ``ttl_s`` later; ``boot_id`` is the one
    of its latest answer, and differs from the description's after a restart of the engine.
    """

    config: LinkConfig
    link: EngineLink
    configured: bool
    found_at_s: float
    controller: EngineController | None = None
    description: EngineDescription | None = None
    reachable: bool = False
    problem: str = "not asked yet"
    last_seen_s: float | None = None
    confirmed_at_s: float | None = None
    boot_id: str = ""
    active_version: int | None = None
    delivery: Delivery | None = None
    last_cycle: CycleResult | None = None
    last_decision: Decision | None = None
    changed_at_s: float | None = None
    history: History = field(default_factory=History)

    @property
    def engine_id(self) -> str:
        return self.config.engine_id

    def seen(self, now_s: float) -> None:
        self.reachable = True
        self.problem = ""
        self.last_seen_s = now_s

    def lost(self, problem: str) -> bool:
        """True when this is news."""
        news = self.reachable or self.problem != problem
        self.reachable = False
        self.problem = problem
        return news

    @property
    def missed_batches(self) -> int:
        return self.link.events.missed_batches

    @property
    def dropped_events(self) -> int:
        return self.link.events.dropped_events


class Fleet:
    """Engines by id; nothing assumes that there is one."""

    def __init__(self) -> None:
        self._engines: dict[str, ManagedEngine] = {}

    def __iter__(self) -> Iterator[ManagedEngine]:
        return iter(list(self._engines.values()))

    def __len__(self) -> int:
        return len(self._engines)

    def __contains__(self, engine_id: str) -> bool:
        return engine_id in self._engines

    def get(self, engine_id: str) -> ManagedEngine | None:
        return self._engines.get(engine_id)

    def add(self, engine: ManagedEngine) -> None:
        self._engines[engine.engine_id] = engine

    def remove(self, engine_id: str) -> ManagedEngine:
        return self._engines.pop(engine_id)

    def controlled(self) -> Iterator[tuple[ManagedEngine, EngineController]]:
        """Those that have described themselves."""
        for engine in self:
            if engine.controller is not None:
                yield engine, engine.controller


def live_sockets(directory: Path) -> list[LinkConfig]:
    """Control links of the live engines in ``directory``, by engine id.

    A live engine holds a lock beside its socket, so what a killed one left is not taken for it.
    """
    found = []
    for path in sorted(directory.glob(f"*{CONTROL_SUFFIX}")):
        if not is_held(Path(f"{path}.lock")):
            continue
        try:
            found.append(LinkConfig.local(path.name.removesuffix(CONTROL_SUFFIX), directory))
        except LinkConfigError:
            continue
    return found


def is_held(lock: Path) -> bool:
    """Whether a live process holds this lock file."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
