"""One live vLLM scheduler governed by an execution core."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hmas.engine.clock import Clock
from hmas.engine.core import ExecutionCore, Identity
from hmas.engine.directive import ControlReply, ControlRequest, Describe, EngineLimits
from hmas.engine.events import Event
from hmas.engine.link.mailbox import DirectiveMailbox
from hmas.engine.topologies import BASELINE, QueuedRequest
from hmas.engine.vllm_compat import EngineKnobs
from hmas.engine.vllm_queue import MakeQueue, TopologyQueue, stock_queue
from hmas.engine.vllm_requests import (
    Tracked,
    features_of,
    held_tokens,
    is_preempted,
    most_output_tokens,
)
from hmas.engine.vllm_telemetry import EngineState, StepReport, finished, first_token

logger = logging.getLogger(__name__)

RECOUNT_STEPS: Final = 256
MAX_FAULTS: Final = 10
TICK_LOCK_S: Final = 0.02

Publish = Callable[[Event], None]


@dataclass(slots=True)
class StepPlan:
    """What ``before_step`` leaves for ``after_step``."""

    started_s: float = 0.0
    prefilling: tuple[Any, ...] = ()


class VllmHost:
    """Everything of ours that lives in a vLLM scheduler; the scheduler only calls it.

    While the topology is FCFS without a fence, vLLM's own queue stays in place and this class
    only observes. Any exception in here ends in stock order with the values vLLM was started
    with, reported as ``doubt``; it never reaches vLLM. After ``MAX_FAULTS`` of them nothing of
    ours runs any more.
    """

    def __init__(
        self,
        scheduler: Any,
        identity: Identity,
        clock: Clock,
        *,
        make_queue: MakeQueue,
        publish: Publish,
    ) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._publish = publish
        self._make_queue = make_queue
        self.knobs = EngineKnobs(scheduler)
        self.core = ExecutionCore(
            identity,
            engine_limits(scheduler, self.knobs),
            tokens_of=held_tokens,
            max_tokens_of=most_output_tokens,
        )
        self.mailbox = DirectiveMailbox(self.answer)
        self.lock = self.mailbox.lock
        self.report = StepReport()
        self.faults = 0
        self._queue: TopologyQueue | None = None
        self._entries: dict[str, QueuedRequest] = {}
        self._awaiting: dict[str, QueuedRequest] = {}
        self._arrivals = 0
        self._context_tokens = 0
        self._recount_in = RECOUNT_STEPS
        self._n_run = self.knobs.stock_n_run
        self._token_budget = self.knobs.most_tokens
        self._plan = StepPlan()
        self._tokens_per_decode = 1 + int(getattr(scheduler, "num_spec_tokens", 0) or 0)

    # Called by the scheduler, on vLLM's main thread, under the lock ---------------------------

    def arrived(self, request: Any) -> None:
        """Before vLLM enqueues ``request``."""
        self._guard(self._track, request)

    def before_step(self) -> None:
        self._guard(self._begin_step)

    def after_step(self, output: Any) -> None:
        """``output`` is vLLM's SchedulerOutput of the step that was just scheduled."""
        self._guard(self._end_scheduling, output)

    def after_update(self, output: Any) -> None:
        """The model's answer to ``output`` has been processed."""
        self._guard(self._end_step, output)

    def preempting(self, request: Any) -> None:
        """Before vLLM resets ``request`` and puts it back into the waiting queue."""
        self._context_tokens -= request.num_computed_tokens
        self.report.sums.preemptions += 1

    def preempted(self, request: Any) -> None:
        """Afterwards: with vLLM's own queue in place nobody else tells the core."""
        if self._queue is None:
            self._guard(self.core.remove, self._entry_of(request))

    def leaving(self, request: Any) -> None:
        """``request`` has finished, for whatever reason; vLLM frees its blocks next."""
        self._guard(self._untrack, request)

    # Called by the link thread ----------------------------------------------------------------

    def answer(self, request: ControlRequest) -> ControlReply:
        """Reply to a directive or a question; runs under the lock, between two steps."""
        now_s = self._clock.now_s()
        if isinstance(request, Describe):
            self._guard(self._check_lease, now_s)
            return self.core.describe()
        if self.faults >= MAX_FAULTS:
            return self.core.refuse(f"gave up after {self.faults} faults: {self.core.doubt}")
        try:
            self._recount()
            reply = self.core.apply(request, now_s)
            self._place_queue(now_s)
            self._show_controls()
        except Exception as error:  # noqa: BLE001 - the edge to vLLM: logged, counted, reported
            self._doubt(error)
            return self.core.refuse(f"internal fault, back in stock order: {self.core.doubt}")
        return reply

    def tick(self) -> None:
        """Every few dozen milliseconds: the lease of an idle engine, and the step report."""
        if not self.lock.acquire(timeout=TICK_LOCK_S):
            return
        try:
            now_s = self._clock.now_s()
            self._guard(self._check_lease, now_s)
            if self.report.due():
                self._publish(self.report.take(now_s, self.state()))
        finally:
            self.lock.release()

    def state(self) -> EngineState:
        running, waiting = self._scheduler.get_request_counts()
        core = self.core
        return EngineState(
            step=core.step,
            running=running,
            waiting=waiting,
            kv_used=self._scheduler.kv_cache_manager.usage,
            token_budget=self._token_budget,
            n_run=self._n_run,
            directive_version=core.active_version,
            topology=core.topology.name,
            bypass=core.bypass,
            lease_expired=core.lease_expired,
            doubt=core.doubt,
        )

    # One step ---------------------------------------------------------------------------------

    def _begin_step(self) -> None:
        scheduler = self._scheduler
        now_s = self._clock.now_s()
        running = len(scheduler.running)
        if not running and self.core.running:
            self.core.stop_all()
        inflight = getattr(scheduler, "_inflight_prefills", ())
        self._plan = StepPlan(self.report.busy.monotonic(), tuple(inflight))
        controls = self.core.begin_step(
            now_s,
            running * self._tokens_per_decode,
            max(0, running - len(inflight)),
            self._context_tokens,
        )
        self._place_queue(now_s)
        self._n_run, self._token_budget = controls
        self.knobs.limit(*controls)
        if inflight and self._token_budget < self.knobs.most_tokens:
            scheduler.running.sort(key=inflight.__contains__)
        if self._queue is not None:
            self._queue.begin_step(now_s, admits=running < self._n_run)

    def _end_scheduling(self, output: Any) -> None:
        queue = self._queue
        if queue is not None:
            queue.end_step()
            if queue.fault is not None:
                raise queue.fault
        tokens = output.total_num_scheduled_tokens
        if not tokens:
            return
        scheduled = output.num_scheduled_tokens
        prefill_tokens = self._started(output)
        for request in self._plan.prefilling:
            prefill_tokens += scheduled.get(request.request_id, 0)
        self._context_tokens += tokens
        self.report.sums.add(prefill_tokens, tokens, self._context_tokens, len(scheduled))
        self.report.busy.begin(self._plan.started_s)

    def _started(self, output: Any) -> int:
        """Book what began or resumed in this step; returns its prompt tokens."""
        new = [data.req_id for data in output.scheduled_new_reqs]
        new.extend(output.scheduled_cached_reqs.resumed_req_ids)
        prefill_tokens = 0
        for request_id in new:
            entry = self._entries.get(request_id)
            if entry is None:
                continue
            tokens = output.num_scheduled_tokens[request_id]
            prefill_tokens += tokens
            tracked = entry.payload
            cached = tracked.request.num_computed_tokens - tokens
            self._context_tokens += cached
            if not tracked.started_at_s:
                tracked.started_at_s = self._clock.now_s()
                tracked.cached_tokens = cached
                self._awaiting[request_id] = entry
            if not self.core.runs(entry):
                self.core.started(entry)
        return prefill_tokens

    def _end_step(self, output: Any) -> None:
        if not output.total_num_scheduled_tokens:
            return
        self.report.busy.end()
        if self._awaiting:
            now_s = self._clock.now_s()
            spoke = [e for e in self._awaiting.values() if e.payload.request.num_output_tokens]
            for entry in spoke:
                self._report_first_token(entry, now_s)
        self._recount_in -= 1
        if self._recount_in <= 0:
            self._recount()

    def _recount(self) -> None:
        """Correct what incremental sums may have missed (rejected drafts, sessions, faults)."""
        self._recount_in = RECOUNT_STEPS
        running = self._scheduler.running
        self._context_tokens = sum(request.num_computed_tokens for request in running)
        for request in running:
            entry = self._entry_of(request)
            if not self.core.runs(entry):
                self.core.started(entry)

    # Requests ---------------------------------------------------------------------------------

    def _track(self, request: Any) -> None:
        if request.request_id not in self._entries:
            self._entries[request.request_id] = self._new_entry(request)

    def _new_entry(self, request: Any) -> QueuedRequest:
        self._arrivals += 1
        tracked = Tracked(request, self._arrivals, self._clock.now_s())
        return self.core.queued(features_of(request), tracked)

    def _entry_of(self, request: Any) -> QueuedRequest:
        self._track(request)
        return self._entries[request.request_id]

    def _untrack(self, request: Any) -> None:
        entry = self._entries.pop(request.request_id, None)
        if entry is None:
            return
        now_s = self._clock.now_s()
        if self.core.runs(entry):
            self._context_tokens -= request.num_computed_tokens
        self.core.remove(entry)
        if request.request_id in self._awaiting:
            if request.num_output_tokens:
                self._report_first_token(entry, now_s)
            else:
                del self._awaiting[request.request_id]
        self._publish(finished(entry, now_s))

    def _report_first_token(self, entry: QueuedRequest, now_s: float) -> None:
        del self._awaiting[entry.payload.request.request_id]
        self._publish(first_token(entry, now_s))

    # Queues -----------------------------------------------------------------------------------

    @property
    def in_stock_order(self) -> bool:
        """Whether vLLM's own queue is in place."""
        return self._queue is None

    def _place_queue(self, now_s: float) -> None:
        """Put in place the queue that topology and fence ask for.

        The new one is complete before vLLM sees it, and the old one is left as it is: whoever
        counts at that moment, on another thread, counts every request once.
        """
        wants_stock = self.core.topology.name == BASELINE and not self.core.fence.active
        if wants_stock == (self._queue is None):
            return
        if self._queue is None:
            queue = TopologyQueue(self.core, self._entry_of, self._make_queue)
            queue.now_s = now_s
            queue.load(self._scheduler.waiting, is_preempted)
            self._scheduler.waiting = self._queue = queue
        else:
            self._scheduler.waiting = stock_queue(self._make_queue, self._queue.entries())
            self._queue = None
            self.core.drain()

    def _check_lease(self, now_s: float) -> None:
        if self.core.check_lease(now_s):
            logger.warning("hmas: the directive's lease ran out, back to FCFS without bounds")
            self._place_queue(now_s)
            self._show_controls()

    def _show_controls(self) -> None:
        """Report what an idle engine will run under; a busy one computes it every step."""
        if self._scheduler.running:
            return
        limits, controls = self.core.limits, self.core.controls
        self._n_run = min(limits.max_num_seqs, controls.n_run or limits.max_num_seqs)
        most = limits.max_num_batched_tokens
        self._token_budget = min(most, controls.token_budget or most)

    # Doubt ------------------------------------------------------------------------------------

    def _guard(self, action: Callable[..., object], *arguments: Any) -> None:
        if self.faults >= MAX_FAULTS:
            return
        try:
            action(*arguments)
        except Exception as error:  # noqa: BLE001 - the edge to vLLM: logged, counted, reported
            self._doubt(error)

    def _doubt(self, error: Exception) -> None:
        """Stock order, stock limits, nothing booked; vLLM goes on as if we were not here."""
        self.faults += 1
        logger.error("hmas: internal fault, back to stock order", exc_info=error)
        if self._queue is not None:
            self._scheduler.waiting = stock_queue(self._make_queue, self._queue.entries())
            self._queue = None
        for entry in self._entries.values():
            entry.ticket = 0
        if self.faults >= MAX_FAULTS:
            self._entries.clear()
            self._awaiting.clear()
        self.core.abandon(f"{type(error).__name__}: {error}"[:200], self._clock.now_s())
        self.knobs.restore()
        self._n_run, self._token_budget = self.knobs.stock_n_run, self.knobs.most_tokens


def engine_limits(scheduler: Any, knobs: EngineKnobs) -> EngineLimits:
    """What vLLM was started with. Groups of a hybrid model share one pool of blocks."""
    groups = max(1, len(scheduler.kv_cache_config.kv_cache_groups))
    return EngineLimits(
        max_num_seqs=knobs.stock_n_run,
        max_num_batched_tokens=knobs.most_tokens,
        kv_blocks=(scheduler.kv_cache_manager.block_pool.num_gpu_blocks - 1) // groups,
        block_size=scheduler.block_size,
        max_model_len=scheduler.max_model_len,
    )
