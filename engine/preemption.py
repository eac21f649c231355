"""Whose slot a far shorter request may take: the choice behind ``srtf``."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from hmas.engine.directive import Hints, StepModel
from hmas.engine.topologies.cost import remaining_output_tokens
from hmas.engine.topologies.queued import QueuedRequest

SCAN: Final = 4
"""How many of the longest-remaining requests are looked at in one step."""


class Pace(NamedTuple):
    """How fast the engine is now; without a step model each request's own prediction counts."""

    model: StepModel | None
    context_tokens: int
    decodes: int

    def prefill_s(self, request: QueuedRequest, tokens: int) -> float:
        """Seconds to compute ``tokens`` of prompt, or of prompt and output again."""
        if self.model is not None:
            return (self.model.step_ms(tokens, 0, 0) - self.model.base_ms) / 1000.0
        features = request.features
        return features.predicted_ttft_ms * tokens / max(1, features.prompt_tokens) / 1000.0

    def decode_s(self, request: QueuedRequest, tokens: int) -> float:
        """Seconds to generate ``tokens``."""
        if self.model is not None:
            step_ms = self.model.step_ms(0, self.context_tokens, self.decodes)
            return step_ms * tokens / 1000.0
        return request.features.predicted_tpot_ms * tokens / 1000.0


class Stay(NamedTuple):
    """One running request; sorts by the step in which it is expected to end."""

    end_step: int
    number: int
    request: QueuedRequest
    since_s: float


class RunningRests:
    """What runs, by predicted end. Every decode moves on by a token per step, so the end of a
    request is a step number that stands still. O(log n) and a shift of pointers."""

    def __init__(self) -> None:
        self._by_end: list[Stay] = []
        self._stays: dict[QueuedRequest, Stay] = {}
        self._number = 0

    def start(self, request: QueuedRequest, step: int, now_s: float) -> None:
        self.stop(request)
        self._number += 1
        stay = Stay(step + remaining_output_tokens(request), self._number, request, now_s)
        self._stays[request] = stay
        insort(self._by_end, stay)

    def stop(self, request: QueuedRequest) -> None:
        stay = self._stays.pop(request, None)
        if stay is not None:
            del self._by_end[bisect_left(self._by_end, stay)]

    def longest(self) -> Iterator[Stay]:
        return reversed(self._by_end)

    def steps_to_next_end(self, step: int) -> float:
        """Until a slot is expected to be free; those that outgrew their prediction say nothing."""
        index = bisect_left(self._by_end, (step + 1,))
        return self._by_end[index].end_step - step if index < len(self._by_end) else math.inf


class Swap(NamedTuple):
    """A waiting request in the place of a running one: seconds that each of them takes."""

    challenger_s: float
    rest_s: float
    recompute_s: float
    wait_s: float

    def pays(self, hysteresis: float) -> bool:
        """The rest is far longer, and nobody would leave before both could have been served."""
        if self.rest_s < hysteresis * self.challenger_s:
            return False
        return self.challenger_s + self.recompute_s < self.wait_s

    def spoils(self, victim: QueuedRequest, now_s: float) -> bool:
        """Whether it makes a request miss its deadline D_r that would otherwise meet it."""
        slack_s = victim.features.deadline_s - now_s - self.rest_s
        return 0 <= slack_s < min(self.challenger_s, self.wait_s) + self.recompute_s


class Preemption:
    """Follows what runs and names who may yield. ``produced`` tells output tokens so far."""

    def __init__(self, produced: Callable[[QueuedRequest], int]) -> None:
        self._produced = produced
        self._rests = RunningRests()
        self._pace = Pace(None, 0, 0)
        self._step = 0
        self._now_s = 0.0

    def begin_step(self, step: int, now_s: float, pace: Pace) -> None:
        self._step, self._now_s, self._pace = step, now_s, pace

    def start(self, request: QueuedRequest) -> None:
        request.produced = self._produced(request)
        self._rests.start(request, self._step, self._now_s)

    def stop(self, request: QueuedRequest) -> None:
        self._rests.stop(request)

    def victims(self, challenger: QueuedRequest, hints: Hints) -> Iterator[QueuedRequest]:
        """Longest rest first, those whose slot ``challenger`` should have."""
        for stay in islice(self._rests.longest(), SCAN):
            victim, produced = stay.request, self._produced(stay.request)
            if not produced or not self._may_yield(stay, hints):
                continue
            swap = self._swap(challenger, stay, victim.features.prompt_tokens + produced)
            if not swap.pays(hints["hysteresis"]):
                return
            if not swap.spoils(victim, self._now_s):
                yield victim

    def _may_yield(self, stay: Stay, hints: Hints) -> bool:
        """Neither preempted too often nor only just begun."""
        if stay.request.preempted >= hints["max_preemptions"]:
            return False
        return self._now_s - stay.since_s >= hints["min_run_s"]

    def _swap(self, challenger: QueuedRequest, stay: Stay, held_tokens: int) -> Swap:
        pace, victim = self._pace, stay.request
        again = challenger.features.prompt_tokens + challenger.produced
        rest = remaining_output_tokens(challenger)
        wait = self._rests.steps_to_next_end(self._step)
        return Swap(
            pace.prefill_s(challenger, again) + pace.decode_s(challenger, rest),
            pace.decode_s(victim, stay.end_step - self._step),
            pace.prefill_s(victim, held_tokens),
            math.inf if wait == math.inf else pace.decode_s(victim, int(wait)),
        )
