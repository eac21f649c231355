"""What the gateway can see of an engine's steps, in the form in which an engine reports them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import perf_counter
from typing import Final, NamedTuple

from hmas.daemon.gateway.pump.turn import Turn
from hmas.engine.vllm_telemetry import BusyTime

REPORT_S: Final = 0.25
"""Shorter reports hold too few tokens to tell the length of a step."""

HEARTBEAT_S: Final = 1.0
SHORTEST_STEP_S: Final = 0.0005
FIRST_GUESS_S: Final = 0.02
RATIO_MEMORY: Final = 0.05
MAX_TOKENS_PER_EVENT: Final = 64.0


class Seen(NamedTuple):
    """The time since the last report; counts as :class:`~hmas.engine.events.StepStats` has them."""

    steps: int
    busy_s: float
    span_s: float
    prefill_tokens: int
    decode_tokens: int
    context_tokens: int
    sequences: int


@dataclass(slots=True)
class _Sums:
    prefill_tokens: int = 0
    prefills: int = 0
    decode_tokens: float = 0.0
    decoding_s: float = 0.0


class StepMeter:
    """Estimates steps from tokens: in each, every sequence that decodes gets one.

    So the time of a step is the time that sequences spent decoding over the tokens they got
    meanwhile. An engine may put several tokens into one event: the ratio is learned from the
    token counts of finished answers. Whole answers count when they end.
    """

    def __init__(self, monotonic: Callable[[], float] = perf_counter) -> None:
        self.step_s = FIRST_GUESS_S
        self.steps = 0
        self._monotonic = monotonic
        self._busy = BusyTime(monotonic)
        self._sums = _Sums()
        self._since_s = monotonic()
        self._tokens_per_event = 1.0

    def started(self, turn: Turn) -> None:
        """One more request is in the engine."""
        turn.started_s = self._monotonic()
        self._busy.begin(turn.started_s)

    def ended(self, turn: Turn) -> None:
        self._collect(turn)
        self._busy.end()

    def first_byte(self, turn: Turn, *, streamed: bool) -> None:
        """Its answer has begun: its prompt has been computed."""
        turn.streamed = streamed
        turn.counted_until_s = self._monotonic()
        self._sums.prefill_tokens += turn.features.prompt_tokens
        self._sums.prefills += 1

    def whole(self, output_tokens: int, seconds: float) -> None:
        """An answer that was not streamed took so long inside the engine."""
        if output_tokens > 1 and seconds > 0:
            self._sums.decode_tokens += output_tokens - 1
            self._sums.decoding_s += seconds

    def learn(self, output_tokens: int, events: int) -> None:
        """A finished stream had so many tokens in so many events."""
        if output_tokens and events:
            ratio = min(MAX_TOKENS_PER_EVENT, output_tokens / events)
            self._tokens_per_event += RATIO_MEMORY * (ratio - self._tokens_per_event)

    def held_tokens(self, turn: Turn) -> int:
        """Estimate of what a request has, or had, in the KV cache; while it waits, its prompt."""
        features = turn.features
        if turn.streamed:
            return features.prompt_tokens + 1 + round(turn.events * self._tokens_per_event)
        age_s = self._monotonic() - turn.started_s if turn.started_s else 0.0
        return features.prompt_tokens + min(
            features.predicted_output_tokens, int(age_s / self.step_s)
        )

    def report(self, running: Collection[Turn]) -> Seen | None:
        """What happened since the last report; None while it is too little to tell."""
        span_s = self._monotonic() - self._since_s
        if span_s < REPORT_S:
            return None
        for turn in running:
            self._collect(turn)
        sums = self._sums
        if sums.decode_tokens < 1 and span_s < HEARTBEAT_S:
            return None
        self._since_s += span_s
        self._sums = _Sums()
        busy_s = min(span_s, self._busy.take())
        if sums.decode_tokens < 1 or sums.decoding_s <= 0:
            return Seen(0, busy_s, span_s, sums.prefill_tokens, 0, 0, 0)
        return self._seen(sums, busy_s, span_s, running)

    def _seen(self, sums: _Sums, busy_s: float, span_s: float, running: Collection[Turn]) -> Seen:
        self.step_s = max(SHORTEST_STEP_S, sums.decoding_s / sums.decode_tokens)
        steps = max(1, round(busy_s / self.step_s))
        self.steps += steps
        decoding = [turn for turn in running if turn.streamed]
        return Seen(
            steps=steps,
            busy_s=busy_s,
            span_s=span_s,
            prefill_tokens=sums.prefill_tokens,
            decode_tokens=round(sums.decode_tokens),
            context_tokens=steps * sum(map(self.held_tokens, decoding)),
            sequences=round(sums.decode_tokens) + sums.prefills,
        )

    def _collect(self, turn: Turn) -> None:
        """Move what a stream has produced since it was last looked at into the sums."""
        if not turn.streamed:
            return
        now_s = self._monotonic()
        new = turn.events - turn.counted_events
        self._sums.decode_tokens += new * self._tokens_per_event
        self._sums.decoding_s += now_s - turn.counted_until_s
        turn.counted_events, turn.counted_until_s = turn.events, now_s
