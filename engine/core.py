"""ExecutionCore: the pool, its active topology, admission and the active directive.

One per engine (or data-parallel rank). It owns no thread, no socket and no clock; the host
(vLLM plug-in, simulator, gateway pump) calls it between two steps and passes the time in.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from hmas.engine.admission import SCAN, SKIP_AHEAD, AdmissionFence, MaxTokensOf, TokensOf
from hmas.engine.budget import StepBudget
from hmas.engine.directive import (
    UNBOUNDED,
    Controls,
    Directive,
    DirectiveReply,
    EngineDescription,
    EngineLimits,
    Hints,
)
from hmas.engine.features import RequestFeatures
from hmas.engine.preemption import Pace, Preemption
from hmas.engine.topologies import (
    BASELINE,
    QueuedRequest,
    Topology,
    make_topology,
    topology_names,
)
from hmas.engine.topologies.cost import remaining_service_s
from hmas.engine.validation import InvalidDirectiveError, checked

DOUBT_HOLD_S = 60.0
"""How long the engine stays in stock order after an internal doubt before it obeys again."""


class Identity(NamedTuple):
    """Who the engine is, in every reply."""

    engine_id: str
    boot_id: str
    kind: str
    kind_version: str
    model: str
    rank: int = 0


class StepControls(NamedTuple):
    """What the host enforces in the next step."""

    n_run: int
    token_budget: int


def _no_tokens(request: QueuedRequest) -> int:
    return request.features.prompt_tokens


def _no_limit(_: QueuedRequest) -> int | None:
    return None


class ExecutionCore:
    """Orders and admits requests; applies directives atomically between steps."""

    def __init__(
        self,
        identity: Identity,
        limits: EngineLimits,
        *,
        tokens_of: TokensOf = _no_tokens,
        max_tokens_of: MaxTokensOf = _no_limit,
    ) -> None:
        self.identity = identity
        self.limits = limits
        self.topology: Topology = make_topology(BASELINE)
        self.controls: Controls = UNBOUNDED
        self._new_fence = partial(AdmissionFence, limits, tokens_of, max_tokens_of)
        self.fence = self._new_fence()
        self._new_budget = partial(StepBudget, limits, tokens_of)
        self.budget = self._new_budget()
        self.directive: Directive | None = None
        self.lease_expired = False
        self.doubt = ""
        self.swaps = 0
        self.step = 0
        self._lease_until_s = 0.0
        self._doubt_until_s = 0.0
        self._running: set[QueuedRequest] = set()
        self._tokens_of = tokens_of
        self._preemption = Preemption(self._produced)
        self._n_run = limits.max_num_seqs
        self._blocked: QueuedRequest | None = None
        self._skipped = 0

    # The pool -----------------------------------------------------------------------------

    def queued(self, features: RequestFeatures, payload: object = None) -> QueuedRequest:
        """Wrap a request for :meth:`add`; knows when it will be too late to start it."""
        prefill_s = 0.0
        if (model := self.controls.step_model) is not None:
            prefill_s = (model.base_ms + model.prefill_ms * features.prompt_tokens) / 1000.0
        return QueuedRequest(features, payload, features.first_token_deadline_s - prefill_s)

    def add(self, request: QueuedRequest, now_s: float) -> None:
        self.topology.add(request, now_s)

    def load(self, front: list[QueuedRequest], rest: list[QueuedRequest], now_s: float) -> None:
        """Take over a whole queue of the host, first in line first."""
        self.topology.load_front(front)
        self.topology.load(rest, now_s)

    def drain(self) -> list[QueuedRequest]:
        """Hand the whole pool back to the host and forget it."""
        waiting = [*self.topology.front(), *self.topology.by_arrival()]
        for request in waiting:
            self.topology.remove(request)
        self._blocked = None
        return waiting

    def requeue(self, request: QueuedRequest) -> None:
        """Back from the engine, preempted or not runnable yet: first in line again."""
        self._stop(request)
        self.topology.requeue(request)

    def remove(self, request: QueuedRequest) -> bool:
        """Forget a waiting or running request; False when it is not ours."""
        known = request in self._running
        self._stop(request)
        self.topology.ended(request, self._produced(request))
        return self.topology.remove(request) or known

    def head(self, now_s: float) -> QueuedRequest | None:
        """The next request that may start now, or None.

        The first of the order, unless the fence holds it back: then at most ``SKIP_AHEAD``
        later ones that fit may pass it, after which it waits for room and runs alone if need be.
        """
        first = self.topology.peek(now_s)
        if first is None or self.fence.fits(first):
            return first
        if first is not self._blocked:
            self._blocked, self._skipped = first, 0
        if self._skipped >= SKIP_AHEAD:
            return None
        for position, request in enumerate(self.topology.ordered(now_s)):
            if position >= SCAN:
                break
            if request is not first and self.fence.fits(request):
                return request
        return None

    def start(self, request: QueuedRequest) -> None:
        """A waiting request begins to run: leaves the pool, its memory is booked."""
        if self._blocked is not None:
            self._skipped += 1
            if request is self._blocked:
                self._blocked = None
        self.topology.take(request)
        self.started(request)

    def started(self, request: QueuedRequest) -> None:
        """Book a request that the host took from a queue of its own."""
        self._running.add(request)
        self._preemption.start(request)
        self.fence.start(request)
        self.budget.start(request)

    def runs(self, request: QueuedRequest) -> bool:
        return request in self._running

    def stop_all(self) -> None:
        """Nothing runs any more: drop every booking."""
        for request in list(self._running):
            self._stop(request)

    def waiting(self, now_s: float) -> Iterator[QueuedRequest]:
        """The pool in its present order."""
        return self.topology.ordered(now_s)

    def __len__(self) -> int:
        return len(self.topology)

    @property
    def running(self) -> int:
        return len(self._running)

    # One step -----------------------------------------------------------------------------

    def begin_step(
        self, now_s: float, running: int, decodes: int, context_tokens: int
    ) -> StepControls:
        """Controls of the step that starts now; checks the lease first."""
        self.step += 1
        self.check_lease(now_s)
        self.fence.step()
        self.budget.begin_step(now_s)
        most = self.limits.max_num_seqs
        n_run = most if self.controls.n_run is None else min(most, self.controls.n_run)
        self._n_run = n_run
        pace = Pace(self.controls.step_model, context_tokens, decodes)
        self._preemption.begin_step(self.step, now_s, pace)
        if self.controls is UNBOUNDED:
            return StepControls(n_run, self.limits.max_num_batched_tokens)
        budget = self.budget.tokens(self.controls, running, decodes, context_tokens)
        return StepControls(n_run, budget)

    def victim(self, now_s: float, running: int) -> QueuedRequest | None:
        """Who should give its slot to the next in line, in this step; mostly nobody.

        Only where the topology preempts, the engine is full and the swap pays. The host may
        decline; otherwise it preempts and tells :meth:`yielded`, before anything starts.
        """
        challenger = self.topology.challenger(now_s)
        if challenger is None or (running < self._n_run and self.fence.fits(challenger)):
            return None
        victims = self._preemption.victims(challenger, self.topology.hints)
        return next((v for v in victims if self._makes_room(v, challenger)), None)

    def yielded(self, request: QueuedRequest, now_s: float) -> None:
        """A :meth:`victim` was preempted: back into the order, with no rank ahead of it."""
        self._stop(request)
        request.produced = self._produced(request)
        request.preempted += 1
        if not request.late:
            # It began in time: from now on it is late when it cannot end in time.
            request.late_at_s = request.features.deadline_s - remaining_service_s(request)
        self.topology.add(request, now_s)

    # Directives ---------------------------------------------------------------------------

    def apply(self, directive: Directive, now_s: float) -> DirectiveReply:
        """ACK and obey, or NACK and keep what is active (last known good).

        A repeated active version renews the lease; an older one is ignored and ACKed with the
        active one.
        """
        if directive.engine_id != self.identity.engine_id:
            return self.refuse(f"directive is for engine {directive.engine_id!r}")
        if directive.version < self.active_version:
            return self.accept()
        if directive.version == self.active_version:
            self._renew(directive.ttl_s, now_s)
            return self.accept()
        if self.doubt and now_s < self._doubt_until_s:
            return self.refuse(f"in stock order after an internal fault: {self.doubt}")
        try:
            checked(directive, self.limits)
            self._activate(directive, now_s)
        except InvalidDirectiveError as error:
            return self.refuse(str(error))
        return self.accept()

    def check_lease(self, now_s: float) -> bool:
        """Fall back to bypass when the daemon went silent; True when that happened now."""
        if self.directive is None or self.lease_expired or now_s <= self._lease_until_s:
            return False
        self.lease_expired = True
        self._enforce(BASELINE, {}, UNBOUNDED, now_s)
        return True

    def fall_back(self, reason: str, now_s: float) -> None:
        """Stock order at once: the host met something it does not understand."""
        self.doubt = reason
        self._doubt_until_s = now_s + DOUBT_HOLD_S
        self._enforce(BASELINE, {}, UNBOUNDED, now_s)

    def abandon(self, reason: str, now_s: float) -> None:
        """:meth:`fall_back` for a host that holds all requests itself and trusts no pool of ours.

        Pool and bookings are dropped, not walked: they may be what is broken.
        """
        self.topology = make_topology(BASELINE)
        self.controls = UNBOUNDED
        self.fence = self._new_fence()
        self.budget = self._new_budget()
        self._running = set()
        self._preemption = Preemption(self._produced)
        self._blocked = None
        self.doubt = reason
        self._doubt_until_s = now_s + DOUBT_HOLD_S

    def swap(self, name: str, hints: Hints, now_s: float) -> None:
        """Rebuild the order of the whole pool in place; nothing is lost or restarted."""
        successor = make_topology(name, hints)
        front, rest = self.topology.front(), self.topology.by_arrival()
        for request in (*front, *rest):
            request.ticket = 0
        successor.load_front(front)
        successor.load(rest, now_s)
        self.topology = successor
        self._blocked = None
        self.swaps += 1

    @property
    def active_version(self) -> int:
        return self.directive.version if self.directive else 0

    @property
    def bypass(self) -> bool:
        """True while the engine runs in plain FCFS, by order, by lost lease or by doubt."""
        ordered = self.directive is not None and self.directive.bypass
        return ordered or self.lease_expired or bool(self.doubt)

    def accept(self) -> DirectiveReply:
        return self._reply(accepted=True, reason="")

    def refuse(self, reason: str) -> DirectiveReply:
        return self._reply(accepted=False, reason=reason)

    def describe(self) -> EngineDescription:
        return EngineDescription(
            engine_id=self.identity.engine_id,
            boot_id=self.identity.boot_id,
            kind=self.identity.kind,
            kind_version=self.identity.kind_version,
            model=self.identity.model,
            rank=self.identity.rank,
            limits=self.limits,
            topologies=list(topology_names()),
            active=self.directive,
            lease_expired=self.lease_expired,
            doubt=self.doubt,
        )

    def _activate(self, directive: Directive, now_s: float) -> None:
        name = BASELINE if directive.bypass else directive.topology
        hints = {} if directive.bypass else directive.hints
        controls = UNBOUNDED if directive.bypass else directive.controls
        self._enforce(name, hints, controls, now_s)
        self.directive = directive
        self.doubt = ""
        self.lease_expired = False
        self._lease_until_s = now_s + directive.ttl_s

    def _renew(self, ttl_s: float, now_s: float) -> None:
        """The active directive holds on, as it was accepted: what a repeat says is not read."""
        self._lease_until_s = now_s + ttl_s
        if self.lease_expired and self.directive is not None and not self.doubt:
            self._activate(self.directive, now_s)
            self._lease_until_s = now_s + ttl_s
        self.lease_expired = False

    def _enforce(self, name: str, hints: Hints, controls: Controls, now_s: float) -> None:
        wanted = make_topology(name, hints)
        if wanted.name != self.topology.name or wanted.hints != self.topology.hints:
            self.swap(name, hints, now_s)
        self.controls = controls
        self.fence.configure(controls)

    def _produced(self, request: QueuedRequest) -> int:
        """Output tokens so far."""
        return max(0, self._tokens_of(request) - request.features.prompt_tokens)

    def _makes_room(self, victim: QueuedRequest, challenger: QueuedRequest) -> bool:
        """Whether the fence lets the one in where the other was."""
        if self.fence.fits(challenger):
            return True
        freed = self.fence.need_blocks(victim) - self.fence.need_blocks(challenger)
        return self.fence.booked_blocks - freed <= self.fence.capacity_blocks

    def _stop(self, request: QueuedRequest) -> None:
        if request in self._running:
            self._running.discard(request)
            self._preemption.stop(request)
            self.fence.release(request)
            self.budget.release(request)

    def _reply(self, *, accepted: bool, reason: str) -> DirectiveReply:
        return DirectiveReply(
            engine_id=self.identity.engine_id,
            boot_id=self.identity.boot_id,
            accepted=accepted,
            active_version=self.active_version,
            topology=self.topology.name,
            bypass=self.bypass,
            step=self.step,
            reason=reason,
        )
