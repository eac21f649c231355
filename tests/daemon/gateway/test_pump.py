"""The pump as a whole: whatever happens in it, and in front of engines."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.engine_controller import EngineController
from hmas.daemon.gateway.pump.turn import State, Turn
from hmas.engine.directive import Controls, Describe, DirectiveReply, EngineDescription
from hmas.engine.topologies import topology_names
from tests.daemon.gateway.pump.support import Broken, Station

ACTIONS = st.one_of(
    st.tuples(st.just("come"), st.integers(1, 2000)),
    st.tuples(st.just("end"), st.integers(0, 50)),
    st.tuples(st.just("leave"), st.integers(0, 50)),
    st.tuples(st.just("swap"), st.sampled_from(topology_names())),
    st.tuples(st.just("bound"), st.integers(1, 6)),
    st.tuples(st.just("tick"), st.sampled_from([0.05, 1.0, 20.0])),
    st.tuples(st.just("fail"), st.integers(0, 50)),
    st.tuples(st.just("answer"), st.integers(0, 50)),
    st.tuples(st.just("break"), st.just(0)),
)


class Story:
    """Plays actions on a station and checks after each that every request is somewhere."""

    def __init__(self) -> None:
        self.station = Station()
        self.topology, self.bound = "fcfs", 3

    async def play(self, actions: list[tuple[str, Any]]) -> None:
        self._steer()
        for number, (action, value) in enumerate(actions):
            await self._act(number, action, value)
            self._check()
        await self._end()
        await self.station.tasks.close()

    def _steer(self) -> None:
        controls = Controls(n_run=self.bound)
        self.station.steer(self.topology, controls=controls, ttl_s=30.0)

    async def _act(self, number: int, action: str, value: Any) -> None:
        station = self.station
        if action == "come":
            await station.come(f"r{number}", predicted_output_tokens=value, arrival_s=number)
        elif action == "tick":
            await station.tick(value)
        elif action == "break":
            station.pump.core.topology = Broken()
        elif action == "swap":
            self.topology = value
            self._steer()
        elif action == "bound":
            self.bound = value
            self._steer()
        elif action == "leave":
            waiting = [name for name, turn in station.turns.items() if not turn.done()]
            if waiting:
                await station.leave(waiting[value % len(waiting)])
        else:
            self._answer(action, value)
        await station.settle()

    def _answer(self, action: str, value: int) -> None:
        running = self._of(State.RUNNING)
        if not running:
            return
        turn, pump = running[value % len(running)], self.station.pump
        if action == "answer":
            pump.answered(turn, streamed=True)
        elif action == "end":
            pump.end(turn)
        else:
            pump.failed(turn)

    def _of(self, state: State) -> list[Turn]:
        results = [
            turn.result()
            for turn in self.station.turns.values()
            if turn.done() and not turn.cancelled()
        ]
        return [turn for turn in results if turn is not None and turn.state is state]

    def _check(self) -> None:
        pump = self.station.pump
        waiting = sum(not turn.done() for turn in self.station.turns.values())
        assert pump.waiting == waiting
        assert pump.running == len(self._of(State.RUNNING))
        if not isinstance(pump.core.topology, Broken):
            assert len(pump.core) == waiting

    async def _end(self) -> None:
        """The engine is well and requests end: every last one has its turn."""
        station = self.station
        for _ in range(2 * len(station.turns) + 10):
            station.engine.succeeded(station.clock.now_s())
            for turn in self._of(State.RUNNING):
                station.pump.answered(turn, streamed=True)
                station.pump.end(turn)
            await station.tick(1.0)
            if not (station.pump.waiting or station.pump.running):
                break
        assert station.pump.waiting == 0
        assert station.pump.core.running == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTIONS, max_size=60))
def test_no_request_is_ever_lost(actions: list[tuple[str, Any]]) -> None:
    asyncio.run(Story().play(actions))


# Under control --------------------------------------------------------------------------------


class Overload:
    """A controller, a pump and an engine whose steps grow with what runs in it."""

    def __init__(self) -> None:
        self.station = Station()
        self.pump = self.station.pump
        described = self.pump.answer(Describe())
        assert isinstance(described, EngineDescription)
        self.controller = EngineController(described)
        self.spoken: set[Turn] = set()

    async def cycles(self, count: int) -> None:
        for number in range(count):
            await self.station.come(f"r{number}", slo_tpot_ms=50.0, predicted_output_tokens=10_000)
            self._produce()
            await self.station.tick(0.25)
            self._control()

    def _produce(self) -> None:
        """Tokens of a quarter of a second: a step takes 4 ms for each request that runs."""
        running = [turn for turn in self._turns() if turn.state is State.RUNNING]
        for turn in running:
            if turn not in self.spoken:
                self.spoken.add(turn)
                self.pump.answered(turn, streamed=True)
            turn.events += max(1, round(0.25 / (0.004 * len(running))))

    def _turns(self) -> list[Turn]:
        ended = [task.result() for task in self.station.turns.values() if task.done()]
        return [turn for turn in ended if turn is not None]

    def _control(self) -> None:
        now_s = self.station.clock.now_s()
        while self.station.told:
            self.controller.observe(self.station.told.pop(0))
        result = self.controller.cycle(now_s)
        directive = result.directive or result.renew
        if directive is not None:
            reply = self.pump.answer(directive)
            assert isinstance(reply, DirectiveReply)
            assert reply.accepted, reply.reason
            self.controller.acknowledge(directive, reply, now_s)


async def test_statera_bounds_what_runs_in_an_engine_without_the_plug_in() -> None:
    overload = Overload()
    await overload.cycles(60)
    directive = overload.pump.core.directive
    assert directive is not None
    assert directive.controls.n_run is not None
    assert directive.controls.n_run < overload.pump.core.limits.max_num_seqs
    assert overload.pump.waiting > 0
    await overload.station.tasks.close()
    assert overload.pump.waiting == 0
