"""One live vLLM scheduler governed by an execution core."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from hmas.engine.clock import Clock
from hmas.engine.core import ExecutionCore, Identity
from hmas.engine.directive import ControlReply, ControlRequest, Describe, EngineLimits
from hmas.engine.events import StepStats
from hmas.engine.link.mailbox import DirectiveMailbox
from hmas.engine.topologies import BASELINE
from hmas.engine.vllm_compat import EngineKnobs
from hmas.engine.vllm_ledger import Publish, RequestLedger
from hmas.engine.vllm_preemption import knows_how, may_preempt, preempt
from hmas.engine.vllm_queue import MakeQueue, TopologyQueue, stock_queue
from hmas.engine.vllm_requests import held_tokens, is_preempted, most_output_tokens
from hmas.engine.vllm_telemetry import StepReport

logger = logging.getLogger(__name__)

RECOUNT_STEPS: Final = 256
MAX_FAULTS: Final = 10
TICK_LOCK_S: Final = 0.02


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
        self.ledger = RequestLedger(self.core, clock, publish)
        self.mailbox = DirectiveMailbox(self.answer)
        self.lock = self.mailbox.lock
        self.report = StepReport()
        self.faults = 0
        self._queue: TopologyQueue | None = None
        self._recount_in = RECOUNT_STEPS
        self._n_run, self._token_budget = self.knobs.stock_n_run, self.knobs.most_tokens
        self._step_began_s = 0.0
        self._prefilling: tuple[Any, ...] = ()
        self._tokens_per_decode = 1 + int(getattr(scheduler, "num_spec_tokens", 0) or 0)

    @property
    def in_stock_order(self) -> bool:
        """Whether vLLM's own queue is in place."""
        return self._queue is None

    # Called by the scheduler, on vLLM's main thread, under the lock ---------------------------

    def arrived(self, request: Any) -> None:
        """Before vLLM enqueues ``request``."""
        self._guard(self.ledger.arrived, request)

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
        self.report.sums.preemptions += 1
        self._guard(self.ledger.preempting, request)

    def preempted(self, request: Any) -> None:
        """Afterwards: with vLLM's own queue in place nobody else tells the core."""
        if self._queue is None:
            self._guard(lambda: self.core.remove(self.ledger.entry_of(request)))

    def leaving(self, request: Any) -> None:
        """``request`` has finished, for whatever reason; vLLM frees its blocks next."""
        self._guard(self.ledger.left, request)

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
            self.ledger.recount(self._scheduler.running)
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
                self._publish(self.step_stats(now_s))
        finally:
            self.lock.release()

    def step_stats(self, now_s: float) -> StepStats:
        """The steps since the last call, merged, and the state after them."""
        sums, span_s = self.report.take()
        running, waiting = self._scheduler.get_request_counts()
        core = self.core
        return StepStats(
            at_s=now_s,
            step=core.step,
            steps=sums.steps,
            busy_s=sums.busy_s,
            span_s=span_s,
            running=running,
            waiting=waiting,
            prefill_tokens=sums.prefill_tokens,
            decode_tokens=sums.decode_tokens,
            context_tokens=sums.context_tokens,
            sequences=sums.sequences,
            kv_used=self._scheduler.kv_cache_manager.usage,
            preemptions=sums.preemptions,
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
        self._step_began_s = self.report.busy.monotonic()
        running = len(scheduler.running)
        if not running and self.core.running:
            self.core.stop_all()
        prefilling = getattr(scheduler, "_inflight_prefills", ())
        self._prefilling = tuple(prefilling)
        self._n_run, self._token_budget = self.core.begin_step(
            now_s,
            running * self._tokens_per_decode,
            max(0, running - len(prefilling)),
            self.ledger.context_tokens,
        )
        self._place_queue(now_s)
        self.knobs.limit(self._n_run, self._token_budget)
        if self._queue is not None and self._make_way(self._queue, now_s):
            running -= 1
        if prefilling and self._token_budget < self.knobs.most_tokens:
            # vLLM spends the budget in this order: a long prompt must not starve decodes.
            scheduler.running.sort(key=prefilling.__contains__)
        if self._queue is not None:
            self._queue.begin_step(now_s, admits=running < self._n_run)

    def _make_way(self, queue: TopologyQueue, now_s: float) -> bool:
        """Where the topology preempts: a running request yields to a far shorter one."""
        scheduler = self._scheduler
        victim = self.core.victim(now_s, len(scheduler.running))
        if victim is None or not knows_how(scheduler):
            return False
        if not may_preempt(scheduler, victim.payload.request):
            return False
        queue.begin_step(now_s, admits=False)
        preempt(scheduler, queue, victim, self.report.busy.monotonic)
        return True

    def _end_scheduling(self, output: Any) -> None:
        queue = self._queue
        if queue is not None:
            queue.end_step()
            if queue.fault is not None:
                raise queue.fault
        tokens = output.total_num_scheduled_tokens
        if not tokens:
            return
        prefill_tokens = self.ledger.scheduled(output, self._prefilling)
        sequences = len(output.num_scheduled_tokens)
        self.report.sums.add(prefill_tokens, tokens, self.ledger.context_tokens, sequences)
        self.report.busy.begin(self._step_began_s)

    def _end_step(self, output: Any) -> None:
        if not output.total_num_scheduled_tokens:
            return
        self.report.busy.end()
        self.ledger.report_first_tokens()
        self._recount_in -= 1
        if self._recount_in <= 0:
            self._recount_in = RECOUNT_STEPS
            self.ledger.recount(self._scheduler.running)

    # Queue and controls -----------------------------------------------------------------------

    def _place_queue(self, now_s: float) -> None:
        """Put in place the queue that topology and fence ask for.

        The new one is complete before vLLM sees it, and the old one is left as it is: whoever
        counts at that moment, on another thread, counts every request once.
        """
        wants_stock = self.core.topology.name == BASELINE and not self.core.fence.active
        if wants_stock == (self._queue is None):
            return
        if self._queue is None:
            queue = TopologyQueue(self.core, self.ledger.entry_of, self._make_queue)
            queue.begin_step(now_s, admits=True)
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
        self.ledger.leave_pools()
        if self.faults >= MAX_FAULTS:
            self.ledger.forget()
        self.core.abandon(f"{type(error).__name__}: {error}"[:200], self._clock.now_s())
        self.knobs.restore()
        self._n_run, self._token_budget = self.knobs.stock_n_run, self.knobs.most_tokens


def engine_limits(scheduler: Any, knobs: EngineKnobs) -> EngineLimits:
    """What vLLM was started with. Groups of a hybrid model share one pool of blocks."""
    groups = max(1, len(scheduler.kv_cache_config.kv_cache_groups))
    return EngineLimits(
        max_num_seqs=knobs.stock_n_run,
        max_num_batched_tokens=knobs.most_tokens,
        kv_blocks=max(1, (scheduler.kv_cache_manager.block_pool.num_gpu_blocks - 1) // groups),
        block_size=scheduler.block_size,
        max_model_len=scheduler.max_model_len,
    )
