"""What happened in the engine, as events: merged steps, first tokens, finished requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hmas.engine.events import Event, Outcome, RequestFinished, RequestFirstToken
from hmas.engine.topologies import QueuedRequest

IDLE_REPORT_S = 1.0

_OUTCOMES = {
    "FINISHED_STOPPED": Outcome.COMPLETED,
    "FINISHED_LENGTH_CAPPED": Outcome.COMPLETED,
    "FINISHED_REPETITION": Outcome.COMPLETED,
    "FINISHED_ABORTED": Outcome.ABORTED,
}


@dataclass(slots=True)
class StepSums:
    """Sums over the steps since the last report; adding a step is O(1)."""

    steps: int = 0
    busy_s: float = 0.0
    prefill_tokens: int = 0
    decode_tokens: int = 0
    context_tokens: int = 0
    sequences: int = 0
    preemptions: int = 0

    def add(self, prefill_tokens: int, tokens: int, context_tokens: int, sequences: int) -> None:
        self.steps += 1
        self.prefill_tokens += prefill_tokens
        self.decode_tokens += tokens - prefill_tokens
        self.context_tokens += context_tokens
        self.sequences += sequences


@dataclass(slots=True)
class BusyTime:
    """Wall time during which at least one step was scheduled and not yet processed.

    Steps overlap under async scheduling, so their durations cannot simply be added.
    """

    monotonic: Callable[[], float] = time.monotonic
    in_flight: int = 0
    since_s: float = 0.0
    total_s: float = 0.0

    def begin(self, started_s: float) -> None:
        if self.in_flight == 0:
            self.since_s = started_s
        self.in_flight += 1

    def end(self) -> None:
        if self.in_flight:
            self.in_flight -= 1
            if self.in_flight == 0:
                self.total_s += self.monotonic() - self.since_s

    def take(self) -> float:
        """Seconds since the last call, up to now."""
        if self.in_flight:
            now_s = self.monotonic()
            self.total_s += now_s - self.since_s
            self.since_s = now_s
        taken_s, self.total_s = self.total_s, 0.0
        return taken_s


@dataclass(slots=True)
class StepReport:
    """Collects steps between two reports; without steps a report is a rare heartbeat."""

    busy: BusyTime = field(default_factory=BusyTime)
    sums: StepSums = field(default_factory=StepSums)
    _since_s: float | None = None

    def due(self) -> bool:
        if self.sums.steps:
            return True
        return self._since_s is None or self.busy.monotonic() - self._since_s >= IDLE_REPORT_S

    def take(self) -> tuple[StepSums, float]:
        """The sums since the last report and the wall seconds that they cover."""
        now_s = self.busy.monotonic()
        span_s = 0.0 if self._since_s is None else now_s - self._since_s
        sums, self.sums, self._since_s = self.sums, StepSums(), now_s
        sums.busy_s = self.busy.take()
        return sums, span_s


def first_token(entry: QueuedRequest, now_s: float) -> Event:
    """``entry`` has just produced its first output."""
    tracked = entry.payload
    tracked.first_token_at_s = now_s
    return RequestFirstToken(
        at_s=now_s,
        request_id=entry.features.request_id,
        ttft_s=max(0.0, now_s - entry.features.arrival_s),
        queue_s=max(0.0, tracked.started_at_s - tracked.queued_at_s),
        cached_tokens=tracked.cached_tokens,
    )


def finished(entry: QueuedRequest, now_s: float) -> Event:
    """``entry`` left the engine; its status says how."""
    tracked = entry.payload
    request = tracked.request
    output_tokens = request.num_output_tokens
    started_at_s = tracked.started_at_s or now_s
    first_at_s = tracked.first_token_at_s
    decode_s = max(0.0, now_s - first_at_s) if first_at_s else 0.0
    return RequestFinished(
        at_s=now_s,
        features=entry.features,
        outcome=_OUTCOMES.get(request.status.name, Outcome.FAILED),
        prompt_tokens=request.num_prompt_tokens,
        output_tokens=output_tokens,
        ttft_s=max(0.0, first_at_s - entry.features.arrival_s) if first_at_s else 0.0,
        tpot_s=decode_s / (output_tokens - 1) if output_tokens > 1 else 0.0,
        queue_s=max(0.0, started_at_s - tracked.queued_at_s),
        preemptions=request.num_preemptions,
    )
