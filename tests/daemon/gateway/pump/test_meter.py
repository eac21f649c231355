from __future__ import annotations

import pytest

from hmas.daemon.gateway.pump.meter import HEARTBEAT_S, REPORT_S, StepMeter
from hmas.daemon.gateway.pump.turn import Turn
from hmas.engine.clock import FakeClock
from tests.engine.support import features


class Engine:
    """Steps of one length, seen by a meter."""

    def __init__(self, step_s: float = 0.02, tokens_per_event: int = 1) -> None:
        self.clock = FakeClock()
        self.meter = StepMeter(self.clock.now_s)
        self.turns: list[Turn] = []
        self.step_s = step_s
        self.tokens_per_event = tokens_per_event

    def start(self, *, streamed: bool = True) -> Turn:
        turn = Turn(features(predicted_output_tokens=50), "tiny", None)
        self.meter.started(turn)
        self.turns.append(turn)
        if streamed:
            self.clock.advance(self.step_s)
            self.meter.first_byte(turn, streamed=True)
        return turn

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.clock.advance(self.step_s * self.tokens_per_event)
            for turn in self.turns:
                turn.events += 1


@pytest.mark.parametrize("streams", [1, 7])
def test_the_length_of_a_step_is_seen_in_the_tokens(streams: int) -> None:
    engine = Engine(step_s=0.02)
    for _ in range(streams):
        engine.start()
    engine.steps(50)
    seen = engine.meter.report(engine.turns)
    assert seen is not None
    assert engine.meter.step_s == pytest.approx(0.02, rel=0.1)
    assert seen.steps == pytest.approx(50 + streams, rel=0.1)
    assert seen.decode_tokens == 50 * streams
    assert seen.prefill_tokens == 100 * streams
    assert seen.sequences == 51 * streams
    assert seen.busy_s == pytest.approx(seen.span_s)
    assert seen.context_tokens == seen.steps * streams * 151


def test_a_short_time_tells_too_little() -> None:
    engine = Engine(step_s=0.001)
    engine.start()
    engine.steps(10)
    assert engine.meter.report(engine.turns) is None
    engine.clock.advance(REPORT_S)
    assert engine.meter.report(engine.turns) is not None
    assert engine.meter.report(engine.turns) is None


def test_an_idle_engine_gives_a_sign_of_life() -> None:
    engine = Engine()
    assert engine.meter.report([]) is None
    engine.clock.advance(HEARTBEAT_S)
    assert engine.meter.report([]) == (0, 0.0, HEARTBEAT_S, 0, 0, 0, 0)


def test_a_busy_engine_without_tokens_is_not_measured() -> None:
    engine = Engine()
    engine.start(streamed=False)
    engine.clock.advance(HEARTBEAT_S)
    seen = engine.meter.report(engine.turns)
    assert seen is not None
    assert (seen.steps, seen.busy_s, seen.sequences) == (0, HEARTBEAT_S, 0)


def test_whole_answers_count_when_they_end() -> None:
    engine = Engine()
    turn = engine.start(streamed=False)
    engine.clock.advance(2.0)
    engine.meter.ended(turn)
    engine.meter.whole(101, 2.0)
    seen = engine.meter.report([])
    assert seen is not None
    assert engine.meter.step_s == pytest.approx(0.02)
    assert (seen.steps, seen.decode_tokens) == (100, 100)


def test_several_tokens_in_one_event_are_learned() -> None:
    engine = Engine(step_s=0.02, tokens_per_event=4)
    for _ in range(200):
        engine.meter.learn(output_tokens=400, events=100)
    engine.start()
    engine.steps(25)
    assert engine.meter.report(engine.turns) is not None
    assert engine.meter.step_s == pytest.approx(0.02, rel=0.1)


def test_what_a_request_holds_grows_with_what_it_produces() -> None:
    engine = Engine(step_s=0.02)
    streamed, whole = engine.start(), engine.start(streamed=False)
    engine.steps(25)
    assert engine.meter.held_tokens(streamed) == 126
    assert engine.meter.held_tokens(whole) == pytest.approx(125, abs=1)
    engine.clock.advance(60)
    assert engine.meter.held_tokens(whole) == 150
