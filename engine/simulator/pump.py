"""Real time: drives a simulated engine inside an asyncio loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Final

from hmas.engine.simulator.batching import SimulatedEngine, StepOutcome
from hmas.engine.simulator.sequence import Sequence, SimRequest

MAX_LAG_S: Final = 0.25
"""A loop that falls further behind its steps drops the rest of its lag instead of racing."""


class Stream:
    """Wakes the handler of one request. ``each_token``: also while tokens come out."""

    __slots__ = ("_waiter", "each_token", "finished", "sequence")

    def __init__(self, *, each_token: bool) -> None:
        self.each_token = each_token
        self.finished = False
        self.sequence: Sequence | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def progress(self) -> bool:
        """Until something came out since the call; True when the request has finished."""
        if not self.finished:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.finished

    def notify(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class EnginePump:
    """Owns the engine within the loop; every call holds ``lock``, which the link shares.

    A step of the engine is a sleep of its length. Lateness of one sleep shortens the next, so
    that timer granularity does not slow the engine down.
    """

    def __init__(self, engine: SimulatedEngine, lock: threading.RLock) -> None:
        self.engine = engine
        self.lag_s = 0.0
        self._lock = lock
        self._work = asyncio.Event()

    def submit(self, request: SimRequest, stream: Stream) -> Sequence:
        """Raises RefusedRequestError as :meth:`SimulatedEngine.add` does."""
        with self._lock:
            sequence = self.engine.add(request, stream)
        stream.sequence = sequence
        self._work.set()
        return sequence

    def abort(self, sequence: Sequence) -> None:
        with self._lock:
            self.engine.abort(sequence)

    def abort_all(self) -> None:
        """The engine stops: everything inside ends as aborted."""
        with self._lock:
            self.engine.abort_all()

    async def run(self) -> None:
        """Step for ever; waits without polling while there is no work."""
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while True:
            with self._lock:
                plan = self.engine.begin()
            if plan is None:
                self._work.clear()
                await self._work.wait()
                due_s = loop.time()
                continue
            due_s = self.due_s(due_s, loop.time()) + plan.duration_s
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            with self._lock:
                outcome = self.engine.end()
            self._notify(outcome)

    def due_s(self, due_s: float, now_s: float) -> float:
        """When the step before ended: on time, even when noticed late, within ``MAX_LAG_S``."""
        lag_s = now_s - due_s - MAX_LAG_S
        if lag_s <= 0:
            return due_s
        self.lag_s += lag_s
        return now_s

    def _notify(self, outcome: StepOutcome) -> None:
        for sequence in outcome.finished:
            stream: Stream = sequence.payload
            stream.finished = True
            stream.notify()
        for sequence in self.engine.generating():
            stream = sequence.payload
            if stream.each_token:
                stream.notify()
