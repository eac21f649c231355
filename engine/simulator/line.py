"""Who waits in front of the simulated engine: vLLM's own FCFS queue, or the H-MAS core."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from hmas.engine.core import ExecutionCore, Identity, StepControls
from hmas.engine.directive import (
    ControlReply,
    ControlRequest,
    Describe,
    Directive,
    DirectiveReply,
    EngineDescription,
    EngineLimits,
)
from hmas.engine.simulator.sequence import Sequence
from hmas.engine.topologies import BASELINE, QueuedRequest


class ActiveState(NamedTuple):
    """What orders the line now, as every step event reports it."""

    directive_version: int
    topology: str
    bypass: bool
    lease_expired: bool
    doubt: str


class WaitingLine(Protocol):
    """What the batching needs from whoever orders the waiting requests."""

    def add(self, sequence: Sequence, now_s: float) -> None: ...

    def requeue(self, sequence: Sequence) -> None:
        """A running sequence was preempted: first in line again."""

    def victim(self, now_s: float, running: int) -> Sequence | None:
        """Who should give its slot to a waiting sequence in this step; None: nobody."""

    def yielded(self, sequence: Sequence, now_s: float) -> None:
        """The victim was preempted: back into the order."""

    def forget(self, sequence: Sequence) -> None:
        """A waiting or running sequence is done with."""

    def head(self, now_s: float) -> Sequence | None:
        """Who may start next; None when nobody may."""

    def start(self, sequence: Sequence) -> None:
        """The head begins to run."""

    def begin_step(self, now_s: float, running: int, decodes: int, context: int) -> StepControls:
        """Limits of the step that starts now."""

    def handle(self, request: ControlRequest, now_s: float) -> ControlReply: ...

    def check_lease(self, now_s: float) -> bool:
        """True when the directive's lease has just ended."""

    def active(self) -> ActiveState: ...

    def __len__(self) -> int: ...


class StockLine:
    """vLLM's FCFS queue and start-up limits; refuses every directive."""

    def __init__(self, identity: Identity, limits: EngineLimits) -> None:
        self._identity = identity
        self._limits = limits
        self._controls = StepControls(limits.max_num_seqs, limits.max_num_batched_tokens)
        self._queue: deque[Sequence] = deque()
        self._step = 0

    def add(self, sequence: Sequence, now_s: float) -> None:
        self._queue.append(sequence)

    def requeue(self, sequence: Sequence) -> None:
        self._queue.appendleft(sequence)

    def victim(self, now_s: float, running: int) -> Sequence | None:
        return None

    def yielded(self, sequence: Sequence, now_s: float) -> None:
        self.requeue(sequence)

    def forget(self, sequence: Sequence) -> None:
        if not sequence.computed and sequence in self._queue:
            self._queue.remove(sequence)

    def head(self, now_s: float) -> Sequence | None:
        return self._queue[0] if self._queue else None

    def start(self, sequence: Sequence) -> None:
        self._queue.popleft()

    def begin_step(self, now_s: float, running: int, decodes: int, context: int) -> StepControls:
        self._step += 1
        return self._controls

    def handle(self, request: ControlRequest, now_s: float) -> ControlReply:
        if isinstance(request, Describe):
            return self._description()
        return DirectiveReply(
            engine_id=self._identity.engine_id,
            boot_id=self._identity.boot_id,
            accepted=False,
            active_version=0,
            topology=BASELINE,
            bypass=False,
            step=self._step,
            reason="this engine simulates stock vLLM, which takes no directives",
        )

    def check_lease(self, now_s: float) -> bool:
        return False

    def active(self) -> ActiveState:
        return ActiveState(0, BASELINE, bypass=False, lease_expired=False, doubt="")

    def __len__(self) -> int:
        return len(self._queue)

    def _description(self) -> EngineDescription:
        identity = self._identity
        return EngineDescription(
            engine_id=identity.engine_id,
            boot_id=identity.boot_id,
            kind=identity.kind,
            kind_version=identity.kind_version,
            model=identity.model,
            rank=identity.rank,
            limits=self._limits,
            topologies=[BASELINE],
            active=None,
            lease_expired=False,
        )


class CoreLine:
    """The H-MAS core: topologies, fence, budget, directives with their lease."""

    def __init__(
        self, identity: Identity, limits: EngineLimits, tokens_of: Callable[[Sequence], int]
    ) -> None:
        self.core = ExecutionCore(
            identity,
            limits,
            tokens_of=lambda queued: tokens_of(queued.payload),
            max_tokens_of=lambda queued: _max_tokens(queued.payload),
        )

    def add(self, sequence: Sequence, now_s: float) -> None:
        sequence.queued = self.core.queued(sequence.request.features, sequence)
        self.core.add(sequence.queued, now_s)

    def requeue(self, sequence: Sequence) -> None:
        self.core.requeue(_queued(sequence))

    def victim(self, now_s: float, running: int) -> Sequence | None:
        queued = self.core.victim(now_s, running)
        return None if queued is None else queued.payload

    def yielded(self, sequence: Sequence, now_s: float) -> None:
        self.core.yielded(_queued(sequence), now_s)

    def forget(self, sequence: Sequence) -> None:
        self.core.remove(_queued(sequence))

    def head(self, now_s: float) -> Sequence | None:
        queued = self.core.head(now_s)
        if queued is None:
            return None
        sequence: Sequence = queued.payload
        return sequence

    def start(self, sequence: Sequence) -> None:
        self.core.start(_queued(sequence))

    def begin_step(self, now_s: float, running: int, decodes: int, context: int) -> StepControls:
        return self.core.begin_step(now_s, running, decodes, context)

    def handle(self, request: ControlRequest, now_s: float) -> ControlReply:
        if isinstance(request, Directive):
            return self.core.apply(request, now_s)
        return self.core.describe()

    def check_lease(self, now_s: float) -> bool:
        return self.core.check_lease(now_s)

    def active(self) -> ActiveState:
        core = self.core
        return ActiveState(
            core.active_version, core.topology.name, core.bypass, core.lease_expired, core.doubt
        )

    def __len__(self) -> int:
        return len(self.core)


def _max_tokens(sequence: Sequence) -> int | None:
    return sequence.request.max_tokens


def _queued(sequence: Sequence) -> QueuedRequest:
    if sequence.queued is None:
        raise ValueError(f"{sequence!r} was never added")
    return sequence.queued
