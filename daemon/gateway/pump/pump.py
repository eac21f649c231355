"""Holds requests back and lets them go in the topology's order, as the engine has room."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from itertools import islice
from typing import Final, Protocol

import msgspec

from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.engines import Unavailable
from hmas.daemon.gateway.pump.meter import Seen, StepMeter
from hmas.daemon.gateway.pump.turn import State, Turn
from hmas.engine.clock import Clock
from hmas.engine.core import ExecutionCore, Identity
from hmas.engine.directive import ControlReply, ControlRequest, Describe, EngineLimits
from hmas.engine.events import Event, RequestArrived, RequestFinished, StepStats
from hmas.engine.features import RequestFeatures
from hmas.engine.topologies import QueuedRequest

MAX_FAULTS: Final = 10
MAX_STEPS_PER_TICK: Final = 64
HANDED_BACK_AT_ONCE: Final = 64
NOT_ENFORCED: Final = "token_budget is not enforced: the engine runs without the plug-in"

_log = logging.getLogger("hmas.gateway.pump")


class Upstream(Protocol):
    """The engine behind a pump."""

    id: str

    def unavailable(self, now_s: float) -> Unavailable | None: ...


class Pump:
    """One worker's execution core before one engine; lives on the event loop's thread.

    Without a directive that holds (none yet, lease expired, bypass, doubt) everything goes out
    at once, first come first served: as if there were no pump. Any exception of ours lets go
    all that waits; after ``MAX_FAULTS`` of them nothing is ever held back again.

    Args:
        publish: where telemetry and request events go.
        elsewhere: whether another engine could take a request for this model now.
        outage_limit_s: how long requests wait for an engine that is out of reach.
    """

    def __init__(
        self,
        identity: Identity,
        limits: EngineLimits,
        engine: Upstream,
        clock: Clock,
        *,
        publish: Callable[[Event], None],
        elsewhere: Callable[[str], bool],
        outage_limit_s: float,
        meter: StepMeter | None = None,
    ) -> None:
        self.core = ExecutionCore(
            identity, limits, tokens_of=self._tokens_of, max_tokens_of=_most_output_tokens
        )
        self.meter = meter or StepMeter()
        self.publish = publish
        self.faults = 0
        self._engine = engine
        self._clock = clock
        self._elsewhere = elsewhere
        self._outage_limit_s = outage_limit_s
        self._waiting: dict[Turn, None] = {}
        self._running: dict[Turn, None] = {}
        self._outage_since_s: float | None = None
        self._trial: Turn | None = None
        self._ticked_s = clock.now_s()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def shown_topology(self) -> str:
        """What answers say of it in ``x-hmas-topology``."""
        return "bypass" if self.core.bypass else self.core.topology.name

    def holds(self, now_s: float) -> bool:
        """Whether requests should wait here although their engine is out of reach."""
        if self.faults >= MAX_FAULTS:
            return False
        since_s = self._outage_since_s
        return since_s is None or now_s - since_s < self._outage_limit_s

    # Requests -----------------------------------------------------------------------------

    async def turn(
        self,
        features: RequestFeatures,
        model: str,
        max_output_tokens: int | None = None,
        *,
        again: bool = False,
    ) -> Turn | None:
        """Wait until this request may go to the engine; then :meth:`end` it in any case.

        ``again``: it was here before, and is first in line. None: the engine is out of reach,
        and another one may be asked.
        """
        turn = Turn(features, model, max_output_tokens)
        if not again:
            self.publish(RequestArrived(at_s=self._clock.now_s(), features=features))
        self._enter(turn, again=again)
        try:
            await turn.over()
        except asyncio.CancelledError:
            self.end(turn)
            raise
        return turn if turn.state is State.RUNNING else None

    def answered(self, turn: Turn, *, streamed: bool) -> None:
        """The engine's first byte is here: it is in reach."""
        self.meter.first_byte(turn, streamed=streamed)
        if self._outage_since_s is not None:
            self._outage_since_s = self._trial = None
            self._guard(self._let_go)

    def failed(self, turn: Turn) -> None:
        """The engine could not be reached, or refused: from now on one request at a time tries."""
        if self._outage_since_s is None:
            self._outage_since_s = self._clock.now_s()
        self.end(turn)

    def end(self, turn: Turn) -> None:
        """The request is over, wherever it was; its booking is free again. May be repeated."""
        if turn.state is State.ENDED:
            return
        self._waiting.pop(turn, None)
        if turn in self._running:
            del self._running[turn]
            self.meter.ended(turn)
        if self._trial is turn:
            self._trial = None
        turn.move(State.ENDED)
        self._guard(lambda: self._forget(turn))

    def finished(self, call: Call, event: RequestFinished, *, counted: bool) -> None:
        """The truth about a request of this engine; ``counted``: the engine gave the lengths."""
        self.publish(msgspec.structs.replace(event, queue_s=call.queue_s))
        if call.streamed and counted:
            self.meter.learn(event.output_tokens, call.events())
        elif counted:
            self.meter.whole(event.output_tokens, call.last_at - call.dispatched_at)

    # Control ------------------------------------------------------------------------------

    def answer(self, request: ControlRequest) -> ControlReply:
        """A directive or a question; must run on the event loop's thread."""
        now_s, core = self._clock.now_s(), self.core
        if isinstance(request, Describe):
            self._guard(lambda: self._check_lease(now_s))
            return core.describe()
        if self.faults >= MAX_FAULTS:
            return core.refuse(f"gave up after {self.faults} faults: {core.doubt}")
        try:
            reply = core.apply(request, now_s)
            self._let_go()
        except Exception as error:  # noqa: BLE001  the edge of our own logic: fail open
            self._fault(error)
            return core.refuse(f"internal fault, everything goes out at once: {core.doubt}")
        if reply.accepted and request.controls.token_budget is not None:
            return msgspec.structs.replace(reply, reason=NOT_ENFORCED)
        return reply

    def tick(self) -> None:
        """Every few dozen milliseconds: lease, outage, bookings that were outgrown, telemetry."""
        now_s = self._clock.now_s()
        self._guard(lambda: self._look(now_s))
        self._guard(lambda: self._report(now_s))

    def step_stats(self, now_s: float, seen: Seen) -> StepStats:
        """The present state, with what was seen since the last report."""
        core = self.core
        return StepStats(
            **seen._asdict(),
            at_s=now_s,
            step=self.meter.steps,
            running=len(self._running),
            waiting=len(self._waiting),
            kv_used=self._kv_used(),
            preemptions=0,
            token_budget=0,
            n_run=int(min(self._bound(), core.limits.max_num_seqs)),
            directive_version=core.active_version,
            topology=core.topology.name,
            bypass=core.bypass,
            lease_expired=core.lease_expired,
            doubt=core.doubt,
        )

    # The pool -----------------------------------------------------------------------------

    def _enter(self, turn: Turn, *, again: bool) -> None:
        self._waiting[turn] = None
        if self.faults >= MAX_FAULTS:
            self._start(turn)
            return
        self._guard(lambda: self._add(turn, again=again))

    def _add(self, turn: Turn, *, again: bool) -> None:
        entry = turn.entry = self.core.queued(turn.features, turn)
        if again:
            self.core.requeue(entry)
        else:
            self.core.add(entry, self._clock.now_s())
        self._let_go()

    def _let_go(self) -> None:
        """Start whoever may start now, in order."""
        now_s, core = self._clock.now_s(), self.core
        self._check_lease(now_s)
        while self._waiting and len(self._running) < self._bound() and self._is_open(now_s):
            entry = core.head(now_s)
            if entry is None:
                return
            core.start(entry)
            self._start(entry.payload)

    def _check_lease(self, now_s: float) -> None:
        if self.core.check_lease(now_s):
            _log.warning("%s: the directive's lease ran out: nothing is held back", self._engine.id)

    def _start(self, turn: Turn) -> None:
        del self._waiting[turn]
        self._running[turn] = None
        self.meter.started(turn)
        if self._outage_since_s is not None:
            self._trial = turn
        turn.move(State.RUNNING)

    def _bound(self) -> float:
        core = self.core
        if core.directive is None or core.bypass:
            return math.inf
        most = core.limits.max_num_seqs
        return min(most, core.controls.n_run or most)

    def _is_open(self, now_s: float) -> bool:
        if self._outage_since_s is not None and self._trial is not None:
            return False
        return self._engine.unavailable(now_s) not in {Unavailable.DOWN, Unavailable.BUSY}

    def _forget(self, turn: Turn) -> None:
        if turn.entry is not None:
            self.core.remove(turn.entry)
            turn.entry = None
        self._let_go()

    # Every tick ---------------------------------------------------------------------------

    def _look(self, now_s: float) -> None:
        core = self.core
        self._check_lease(now_s)
        if self._running:
            self._count_steps(now_s)
        self._ticked_s = now_s
        if len(core) != len(self._waiting):
            raise RuntimeError(f"{len(core)} requests in the pool, {len(self._waiting)} wait")
        if self._outage_since_s is not None:
            self._hand_back(now_s)
        self._let_go()
        if self._waiting and not self._running and self._is_open(now_s):
            raise RuntimeError(f"{len(self._waiting)} requests wait and none may start")

    def _report(self, now_s: float) -> None:
        seen = self.meter.report(self._running)
        if seen is not None:
            self.publish(self.step_stats(now_s, seen))

    def _count_steps(self, now_s: float) -> None:
        """The core counts its steps to see who may have outgrown its booking."""
        steps = int((now_s - self._ticked_s) / self.meter.step_s)
        for _ in range(max(1, min(steps, MAX_STEPS_PER_TICK))):
            self.core.begin_step(now_s, len(self._running), len(self._running), 0)

    def _hand_back(self, now_s: float) -> None:
        """Those who could be served elsewhere, and all once the outage lasts too long."""
        lost = not self.holds(now_s)
        asked = None if lost else HANDED_BACK_AT_ONCE
        for turn in list(islice(self._waiting, asked)):
            if turn.state is State.WAITING and (lost or self._elsewhere(turn.model)):
                self.end(turn)

    # Bookings and doubt -------------------------------------------------------------------

    def _tokens_of(self, entry: QueuedRequest) -> int:
        turn: Turn = entry.payload
        return self.meter.held_tokens(turn)

    def _kv_used(self) -> float:
        limits = self.core.limits
        held = sum(map(self.meter.held_tokens, self._running))
        return min(1.0, held / (limits.kv_blocks * limits.block_size))

    def _guard(self, action: Callable[[], object]) -> None:
        if self.faults >= MAX_FAULTS:
            return
        try:
            action()
        except Exception as error:  # noqa: BLE001  the edge of our own logic: fail open
            self._fault(error)

    def _fault(self, error: Exception) -> None:
        """Trust nothing of the core: all that waits goes out now, in the order of arrival."""
        self.faults += 1
        _log.error("%s: fault in the pump, nothing is held back", self._engine.id, exc_info=error)
        for turn in (*self._waiting, *self._running):
            if turn.entry is not None:
                turn.entry.ticket = 0
                turn.entry = None
        self.core.abandon(f"{type(error).__name__}: {error}"[:200], self._clock.now_s())
        for turn in list(self._waiting):
            self._start(turn)


def _most_output_tokens(entry: QueuedRequest) -> int | None:
    turn: Turn = entry.payload
    return turn.max_output_tokens
