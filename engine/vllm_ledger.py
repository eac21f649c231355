"""The requests inside one vLLM engine, from arrival to the end, and what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hmas.engine.clock import Clock
from hmas.engine.core import ExecutionCore
from hmas.engine.events import Event, RequestArrived
from hmas.engine.topologies import QueuedRequest
from hmas.engine.vllm_requests import Tracked, features_of
from hmas.engine.vllm_telemetry import finished, first_token

Publish = Callable[[Event], None]


class RequestLedger:
    """Books what runs with the core and reports first tokens and ends.

    ``context_tokens`` is what the running requests attend to; like everything here it is kept
    by differences, so a step costs no loop over what runs.
    """

    def __init__(self, core: ExecutionCore, clock: Clock, publish: Publish) -> None:
        self.context_tokens = 0
        self._core = core
        self._clock = clock
        self._publish = publish
        self._entries: dict[str, QueuedRequest] = {}
        self._silent: dict[str, QueuedRequest] = {}
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._entries)

    def entry_of(self, request: Any) -> QueuedRequest:
        """The core's view of ``request``, made when it is first seen."""
        entry = self._entries.get(request.request_id)
        if entry is None:
            self._arrivals += 1
            tracked = Tracked(request, self._arrivals, self._clock.now_s())
            entry = self._core.queued(features_of(request), tracked)
            self._entries[request.request_id] = entry
        return entry

    def arrived(self, request: Any) -> None:
        """``request`` is here: among several engines, this tells the daemon whose it is."""
        features = self.entry_of(request).features
        self._publish(RequestArrived(at_s=self._clock.now_s(), features=features))

    def scheduled(self, output: Any, prefilling: Iterable[Any]) -> int:
        """Book what began or resumed in this step; returns the step's prompt tokens.

        ``prefilling`` are the requests that were in the middle of their prompt before it.
        """
        tokens_of: dict[str, int] = output.num_scheduled_tokens
        began = [new.req_id for new in output.scheduled_new_reqs]
        began.extend(output.scheduled_cached_reqs.resumed_req_ids)
        for request_id in began:
            self._began(request_id, tokens_of[request_id])
        self.context_tokens += output.total_num_scheduled_tokens
        on_prompt = {request.request_id for request in prefilling}
        on_prompt.update(began)
        return sum(tokens_of.get(request_id, 0) for request_id in on_prompt)

    def _began(self, request_id: str, tokens: int) -> None:
        entry = self._entries[request_id]
        tracked = entry.payload
        cached = tracked.request.num_computed_tokens - tokens
        self.context_tokens += cached
        if not tracked.started_at_s:
            tracked.started_at_s = self._clock.now_s()
            tracked.cached_tokens = cached
            self._silent[request_id] = entry
        if not self._core.runs(entry):
            self._core.started(entry)

    def preempting(self, request: Any) -> None:
        """``request`` is about to lose its cache."""
        self.context_tokens -= request.num_computed_tokens

    def report_first_tokens(self) -> None:
        """After the model's answer: whoever spoke for the first time."""
        if not self._silent:
            return
        now_s = self._clock.now_s()
        spoke = [e for e in self._silent.values() if e.payload.request.num_output_tokens]
        for entry in spoke:
            self._report_first_token(entry, now_s)

    def left(self, request: Any) -> None:
        """``request`` has finished, for whatever reason."""
        entry = self._entries.pop(request.request_id, None)
        if entry is None:
            return
        now_s = self._clock.now_s()
        if self._core.runs(entry):
            self.context_tokens -= request.num_computed_tokens
        self._core.remove(entry)
        if self._silent.get(request.request_id) is entry:
            if request.num_output_tokens:
                self._report_first_token(entry, now_s)
            else:
                del self._silent[request.request_id]
        self._publish(finished(entry, now_s))

    def recount(self, running: Iterable[Any]) -> None:
        """Correct what differences may have missed: rejected drafts, sessions, faults."""
        self.context_tokens = 0
        for request in running:
            self.context_tokens += request.num_computed_tokens
            entry = self.entry_of(request)
            if not self._core.runs(entry):
                self._core.started(entry)

    def leave_pools(self) -> None:
        """No entry waits in a topology of ours any more."""
        for entry in self._entries.values():
            entry.ticket = 0

    def forget(self) -> None:
        """Stop following requests."""
        self._entries.clear()
        self._silent.clear()

    def _report_first_token(self, entry: QueuedRequest, now_s: float) -> None:
        del self._silent[entry.payload.request.request_id]
        self._publish(first_token(entry, now_s))
