"""Virtual time: a workload through one simulated engine, as fast as this machine can count."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from hmas.engine.clock import FakeClock
from hmas.engine.simulator.batching import RefusedRequestError, SimulatedEngine
from hmas.engine.simulator.sequence import SimRequest
from hmas.engine.simulator.tally import StepPlan


class Tick(NamedTuple):
    """Something that happens every ``every_s`` virtual seconds, first after one interval.

    ``action`` gets the time; it may call ``engine.handle`` with a directive, which holds from
    the next step on.
    """

    every_s: float
    action: Callable[[float], None]


class RunResult(NamedTuple):
    """Where a run ended; ``unfinished`` requests still wait or run at ``ended_s``."""

    submitted: int
    refused: int
    unfinished: int
    steps: int
    ended_s: float


class VirtualRun:
    """One run over ``requests``, which must be ordered by arrival; ``clock`` is the engine's.

    The engine reports to its own sink. Between two steps, arrivals and ticks happen in the order of
    their times, an arrival before a tick of the same time.
    """

    def __init__(
        self,
        requests: Iterable[SimRequest],
        engine: SimulatedEngine,
        *,
        clock: FakeClock,
        ticks: Iterable[Tick] = (),
        until_s: float = math.inf,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._until_s = until_s
        self._requests: Iterator[SimRequest] = iter(requests)
        self._next = next(self._requests, None)
        self._ticks = list(ticks)
        self._due = [clock.now_s() + tick.every_s for tick in self._ticks]
        self._submitted = self._refused = self._steps = 0
        self._in_step = False
        self._held: list[SimRequest] = []

    def run(self) -> RunResult:
        """Until everything has finished, or until ``until_s``."""
        engine, clock, until_s = self._engine, self._clock, self._until_s
        while clock.now_s() < until_s:
            plan = engine.begin()
            self._release()
            if plan is not None:
                self._step(plan)
            elif not engine.has_work:
                if self._next is None:
                    break
                self._advance(min(self._next.features.arrival_s, until_s))
        self._release()
        engine.flush_stats()
        unfinished = engine.running + engine.waiting
        return RunResult(self._submitted, self._refused, unfinished, self._steps, clock.now_s())

    def _step(self, plan: StepPlan) -> None:
        self._in_step = True
        self._advance(plan.begun_s + plan.duration_s)
        self._in_step = False
        self._engine.end()
        self._steps += 1

    def _advance(self, to_s: float) -> None:
        """Let arrivals and ticks happen up to and at ``to_s``, then stand there."""
        while True:
            arrival_s = math.inf if self._next is None else self._next.features.arrival_s
            due_s = min(self._due, default=math.inf)
            at_s = min(arrival_s, due_s)
            if at_s > to_s:
                break
            self._clock.set(max(at_s, self._clock.now_s()))
            if arrival_s <= due_s:
                self._arrive()
            else:
                self._tick(due_s)
        self._clock.set(max(to_s, self._clock.now_s()))

    def _arrive(self) -> None:
        request = self._next
        if request is None:
            return
        self._next = next(self._requests, None)
        if self._in_step and self._engine.profile.async_scheduling:
            self._held.append(request)
        else:
            self._submit(request)

    def _release(self) -> None:
        """What came while a step ran misses the step that asynchronous scheduling had ready."""
        for request in self._held:
            self._submit(request)
        self._held.clear()

    def _submit(self, request: SimRequest) -> None:
        try:
            self._engine.add(request)
        except RefusedRequestError:
            self._refused += 1
        else:
            self._submitted += 1

    def _tick(self, due_s: float) -> None:
        self._engine.flush_stats()
        for index, tick in enumerate(self._ticks):
            if self._due[index] == due_s:
                self._due[index] = due_s + tick.every_s
                tick.action(due_s)


def run(
    requests: Iterable[SimRequest],
    engine: SimulatedEngine,
    *,
    clock: FakeClock,
    ticks: Iterable[Tick] = (),
    until_s: float = math.inf,
) -> RunResult:
    """See :class:`VirtualRun`. Same requests, same directives: the same events, bit by bit."""
    return VirtualRun(requests, engine, clock=clock, ticks=ticks, until_s=until_s).run()
