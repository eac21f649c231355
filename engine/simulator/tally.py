"""Merges the numbers of consecutive steps into one event."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hmas.engine.core import StepControls
from hmas.engine.events import StepStats
from hmas.engine.simulator.batch import Chunk
from hmas.engine.simulator.line import ActiveState


class StepPlan(NamedTuple):
    """One scheduled step; counts as :class:`~hmas.engine.events.StepStats` defines them."""

    begun_s: float
    duration_s: float
    prefill_tokens: int
    decode_tokens: int
    context_tokens: int
    sequences: int
    preemptions: int
    chunks: list[Chunk]


class StepTally:
    """Sums over steps until :meth:`flush`; the state is that of the last one."""

    def __init__(self, active: Callable[[], ActiveState]) -> None:
        self._active = active
        self._step = 0
        self._reset()

    def _reset(self) -> None:
        self.steps = 0
        self.since_s = 0.0
        self._busy_s = 0.0
        self._prefill = self._decode = self._context = self._sequences = self._preemptions = 0

    def add(self, plan: StepPlan) -> None:
        """Count one completed step."""
        if not self.steps:
            self.since_s = plan.begun_s
        self._step += 1
        self.steps += 1
        self._busy_s += plan.duration_s
        self._prefill += plan.prefill_tokens
        self._decode += plan.decode_tokens
        self._context += plan.context_tokens
        self._sequences += plan.sequences
        self._preemptions += plan.preemptions

    def flush(
        self, now_s: float, running: int, waiting: int, kv_used: float, controls: StepControls
    ) -> StepStats:
        """The event for all steps since the last flush, with the state of now."""
        active = self._active()
        stats = StepStats(
            at_s=now_s,
            step=self._step,
            steps=self.steps,
            busy_s=self._busy_s,
            span_s=now_s - self.since_s if self.steps else 0.0,
            running=running,
            waiting=waiting,
            prefill_tokens=self._prefill,
            decode_tokens=self._decode,
            context_tokens=self._context,
            sequences=self._sequences,
            kv_used=kv_used,
            preemptions=self._preemptions,
            token_budget=controls.token_budget,
            n_run=controls.n_run,
            directive_version=active.directive_version,
            topology=active.topology,
            bypass=active.bypass,
            lease_expired=active.lease_expired,
            doubt=active.doubt,
        )
        self._reset()
        return stats
