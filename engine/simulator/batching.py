"""Continuous batching as vLLM's scheduler does it, with a step-time model for the hardware.

One step: running requests first, in the order they were admitted (all decodes, then the one
prompt that is still being computed), then waiting ones while tokens, sequences and KV blocks
last. A prompt takes what is left of the token budget (chunked prefill); it starts only when
all of it fits the free KV cache (vLLM's ``scheduler_reserve_full_isl``). When a decode finds
no block, the last admitted request is preempted and recomputed later, and nothing is admitted
in that step. Checked against vLLM 0.32.0, ``v1/core/sched/scheduler.py``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from hmas.engine.clock import Clock
from hmas.engine.core import ExecutionCore, Identity, StepControls
from hmas.engine.directive import ControlReply, ControlRequest
from hmas.engine.events import (
    Event,
    Outcome,
    RequestArrived,
    RequestFinished,
    RequestFirstToken,
)
from hmas.engine.simulator.batch import Batch, Chunk
from hmas.engine.simulator.line import CoreLine, StockLine, WaitingLine
from hmas.engine.simulator.profile import Profile, check_limits
from hmas.engine.simulator.sequence import Sequence, SimRequest
from hmas.engine.simulator.tally import StepPlan, StepTally

KIND: Final = "simulator"
KIND_VERSION: Final = "1"

STATS_EVERY_S: Final = 0.05
"""Steps within this time share one ``StepStats`` event, as on the control link."""


class RefusedRequestError(ValueError):
    """The engine can never serve this request; the message names the field."""


class StepOutcome(NamedTuple):
    """What a step brought: first tokens (also after a preemption) and finished requests."""

    sampled: list[Sequence]
    finished: list[Sequence]


def identity_of(profile: Profile, engine_id: str, boot_id: str | None = None) -> Identity:
    return Identity(engine_id, boot_id or uuid.uuid4().hex, KIND, KIND_VERSION, profile.model)


class SimulatedEngine:
    """One engine. ``begin`` schedules a step, ``end`` completes it when its time has passed.

    Decodes cost O(1) per step, prompts O(1) per chunk, so virtual time runs thousands of times
    faster than the engine it stands for.

    Args:
        clock: time of everything; steps and events carry its seconds.
        on_event: receives ``RequestArrived``, ``StepStats``, ``RequestFirstToken`` and
            ``RequestFinished``.
        stock: vLLM's plain FCFS with the profile's limits instead of the H-MAS core.
        prefix_unit_tokens: prompt tokens that one prefix hash stands for; None: as long as a
            KV block. Only used with ``prefix_caching``.
    """

    def __init__(
        self,
        profile: Profile,
        clock: Clock,
        on_event: Callable[[Event], None],
        *,
        identity: Identity | None = None,
        stock: bool = False,
        prefix_caching: bool | None = None,
        prefix_unit_tokens: int | None = None,
        stats_every_s: float = STATS_EVERY_S,
    ) -> None:
        limits = profile.limits
        check_limits(limits, profile.name)
        self.profile = profile
        self.identity = identity or identity_of(profile, "engine0")
        self.preemptions = 0
        self._submitted = 0
        self._clock = clock
        self._on_event = on_event
        self._stats_every_s = stats_every_s
        self._batch = Batch(
            limits,
            caching=profile.prefix_caching if prefix_caching is None else prefix_caching,
            unit_tokens=prefix_unit_tokens,
        )
        self._line: WaitingLine = (
            StockLine(self.identity, limits)
            if stock
            else CoreLine(self.identity, limits, self._tokens_of)
        )
        self._sequences: dict[Sequence, None] = {}
        self._aborted: list[Sequence] = []
        self._plan: StepPlan | None = None
        self._controls = StepControls(limits.max_num_seqs, limits.max_num_batched_tokens)
        self._tally = StepTally(self._line.active)

    # Requests -----------------------------------------------------------------------------

    def add(self, request: SimRequest, payload: Any = None) -> Sequence:
        """Queue a request.

        Raises:
            RefusedRequestError: no room for the prompt and one token in the model's context,
                an empty prompt, an output of less than one token.
        """
        target = self._target(request)
        self._submitted += 1
        sequence = Sequence(
            request, target, self._clock.now_s(), number=self._submitted, payload=payload
        )
        self._sequences[sequence] = None
        self._line.add(sequence, sequence.enqueued_s)
        self._on_event(RequestArrived(at_s=sequence.enqueued_s, features=request.features))
        return sequence

    def abort(self, sequence: Sequence) -> bool:
        """Drop a request, at the end of the step if one runs; False when it is not here."""
        if sequence not in self._sequences:
            return False
        if self._plan is not None:
            self._aborted.append(sequence)
        else:
            self._finish(sequence, Outcome.ABORTED)
        return True

    def abort_all(self) -> None:
        """Drop everything, as an engine that shuts down; a step that runs ends now."""
        if self._plan is not None:
            self.end()
        for sequence in list(self._sequences):
            self.abort(sequence)

    def handle(self, request: ControlRequest) -> ControlReply:
        """Answer the control link. Must not run inside another call of this engine."""
        return self._line.handle(request, self._clock.now_s())

    @property
    def core(self) -> ExecutionCore | None:
        """None in stock mode."""
        return self._line.core if isinstance(self._line, CoreLine) else None

    @property
    def running(self) -> int:
        return len(self._batch)

    @property
    def waiting(self) -> int:
        return len(self._line)

    @property
    def kv_used(self) -> float:
        """Share of the KV blocks that running requests hold."""
        return self._batch.kv.used

    @property
    def has_work(self) -> bool:
        return bool(self._sequences)

    def generating(self) -> Iterator[Sequence]:
        """Running sequences past their prompt, in order of admission."""
        return (sequence for sequence in self._batch if sequence.decoding)

    def output_tokens(self, sequence: Sequence) -> int:
        """Tokens generated so far."""
        return self._batch.decodes.produced(sequence)

    # One step -----------------------------------------------------------------------------

    def begin(self) -> StepPlan | None:
        """Schedule the next step; None when there is nothing to run."""
        if self._plan is not None:
            raise RuntimeError("the step before has not ended")
        if not self._sequences:
            return None
        now_s, batch = self._clock.now_s(), self._batch
        decodes = batch.decodes
        self._controls = self._line.begin_step(
            now_s, len(batch), decodes.count, decodes.context_tokens
        )
        yielded = self._make_way(now_s)
        chunks: list[Chunk] = []
        victims = batch.grow_decodes()
        budget = self._controls.token_budget - decodes.count
        if batch.partial is not None and budget > 0:
            self._continue(batch.partial, budget, chunks, victims)
        for victim in victims:
            self._requeue(victim)
        if not victims:
            self._admit(now_s, budget, chunks)
        self._plan = self._planned(now_s, chunks, len(victims) + yielded)
        return self._plan

    def end(self) -> StepOutcome:
        """Complete the step that runs: tokens come out, requests finish, aborts take effect."""
        plan = self._plan
        if plan is None:
            raise RuntimeError("no step has begun")
        self._plan = None
        now_s = self._clock.now_s()
        finished = self._batch.decodes.advance() if plan.decode_tokens else []
        sampled = [sequence for sequence, _ in plan.chunks if sequence.computed == sequence.tokens]
        for sequence in sampled:
            if not self._sample(sequence, now_s):
                finished.append(sequence)
        for sequence in finished:
            self._finish(sequence, Outcome.COMPLETED)
        for sequence in self._aborted:
            if sequence in self._sequences:
                self._finish(sequence, Outcome.ABORTED)
        self._aborted.clear()
        self._record(plan, now_s)
        return StepOutcome(sampled, finished)

    def check_lease(self) -> None:
        """For hosts that idle: notice the end of a lease without a step, and report it."""
        if self._line.check_lease(self._clock.now_s()):
            self.flush_stats(force=True)

    def flush_stats(self, *, force: bool = False) -> None:
        """Report the steps that were not reported yet; with ``force`` the state in any case."""
        if self._tally.steps or force:
            now_s = self._clock.now_s()
            self._on_event(
                self._tally.flush(
                    now_s, len(self._batch), len(self._line), self.kv_used, self._controls
                )
            )

    # Scheduling ---------------------------------------------------------------------------

    def _continue(
        self, sequence: Sequence, budget: int, chunks: list[Chunk], victims: list[Sequence]
    ) -> None:
        """The unfinished prompt goes on, or yields when it finds no memory."""
        chunk = self._batch.grow_partial(budget)
        if chunk is not None:
            chunks.append(chunk)
        else:
            self._batch.stop(sequence)
            victims.append(sequence)

    def _make_way(self, now_s: float) -> int:
        """A running sequence yields to a far shorter waiting one; returns how many did."""
        victim = self._line.victim(now_s, len(self._batch))
        if victim is None or not victim.decoding:
            return 0
        self._batch.stop(victim)
        self._reset(victim)
        self._line.yielded(victim, now_s)
        return 1

    def _requeue(self, victim: Sequence) -> None:
        self._reset(victim)
        self._line.requeue(victim)

    def _reset(self, victim: Sequence) -> None:
        victim.computed = 0
        victim.preemptions += 1
        self.preemptions += 1

    def _admit(self, now_s: float, budget: int, chunks: list[Chunk]) -> None:
        """Waiting requests start while tokens, sequences and memory last."""
        line, batch, n_run = self._line, self._batch, self._controls.n_run
        budget -= sum(chunk.tokens for chunk in chunks)
        while budget > 0 and len(batch) < n_run:
            sequence = line.head(now_s)
            chunk = batch.start(sequence, budget) if sequence is not None else None
            if sequence is None or chunk is None:
                return
            line.start(sequence)
            if sequence.scheduled_s is None:
                sequence.scheduled_s = now_s
            chunks.append(chunk)
            budget -= chunk.tokens

    def _planned(self, now_s: float, chunks: list[Chunk], preemptions: int) -> StepPlan:
        decodes = self._batch.decodes
        prefill = sum(chunk.tokens for chunk in chunks)
        context = decodes.context_tokens + decodes.count
        context += sum(chunk.sequence.computed for chunk in chunks)
        sequences = decodes.count + len(chunks)
        duration_s = self.profile.step_model.step_ms(prefill, context, sequences) / 1000
        return StepPlan(
            now_s, duration_s, prefill, decodes.count, context, sequences, preemptions, chunks
        )

    # Completion ---------------------------------------------------------------------------

    def _sample(self, sequence: Sequence, now_s: float) -> bool:
        """The token that ends a prefill; False when it was the last one."""
        sequence.produced += 1
        if sequence.first_token_s is None:
            sequence.first_token_s = now_s
            self._on_event(
                RequestFirstToken(
                    at_s=now_s,
                    request_id=sequence.request.features.request_id,
                    ttft_s=now_s - sequence.request.features.arrival_s,
                    queue_s=_queue_s(sequence),
                    cached_tokens=sequence.cached_tokens,
                )
            )
        if sequence.produced >= sequence.target:
            return False
        self._batch.decodes.join(sequence)
        return True

    def _finish(self, sequence: Sequence, outcome: Outcome) -> None:
        if sequence in self._batch:
            self._batch.stop(sequence)
        self._line.forget(sequence)
        del self._sequences[sequence]
        self._on_event(_finished(sequence, outcome, self._clock.now_s()))

    def _record(self, plan: StepPlan, now_s: float) -> None:
        self._tally.add(plan)
        if now_s - self._tally.since_s >= self._stats_every_s or not self._sequences:
            self.flush_stats()

    def _tokens_of(self, sequence: Sequence) -> int:
        return sequence.request.prompt_tokens + self._batch.decodes.produced(sequence)

    def _target(self, request: SimRequest) -> int:
        longest = self.profile.limits.max_model_len
        if request.prompt_tokens < 1:
            raise RefusedRequestError("prompt_tokens must be at least 1")
        if request.prompt_tokens >= longest:
            raise RefusedRequestError(
                f"prompt_tokens is {request.prompt_tokens}, but the model's context is"
                f" {longest} tokens and must hold at least one output token"
            )
        wanted = request.output_tokens
        if request.max_tokens is not None:
            wanted = min(wanted, request.max_tokens)
        if wanted < 1:
            raise RefusedRequestError("output_tokens and max_tokens must be at least 1")
        return min(wanted, longest - request.prompt_tokens)


def _queue_s(sequence: Sequence) -> float:
    return 0.0 if sequence.scheduled_s is None else sequence.scheduled_s - sequence.enqueued_s


def _finished(sequence: Sequence, outcome: Outcome, now_s: float) -> RequestFinished:
    first_s, arrival_s = sequence.first_token_s, sequence.request.features.arrival_s
    generated = sequence.produced - 1
    return RequestFinished(
        at_s=now_s,
        features=sequence.request.features,
        outcome=outcome,
        prompt_tokens=sequence.request.prompt_tokens,
        output_tokens=sequence.produced,
        ttft_s=0.0 if first_s is None else first_s - arrival_s,
        tpot_s=(now_s - first_s) / generated if first_s is not None and generated > 0 else 0.0,
        queue_s=_queue_s(sequence),
        preemptions=sequence.preemptions,
    )
