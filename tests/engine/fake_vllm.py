"""The few parts of vLLM's scheduler that the plug-in touches, without vLLM.

Real schedulers are tested in tests/system/vllm; this one makes the unit tests fast and lets
them break things on purpose.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any


class Status(Enum):
    WAITING = 1
    RUNNING = 2
    PREEMPTED = 3
    FINISHED_STOPPED = 4
    FINISHED_ABORTED = 5
    FINISHED_ERROR = 6


@dataclass(eq=False)
class FakeRequest:
    request_id: str
    arrival_time: float = 0.0
    num_prompt_tokens: int = 32
    max_tokens: int = 100
    priority: int = 0
    extra_args: dict[str, Any] | None = None
    status: Status = Status.WAITING
    num_computed_tokens: int = 0
    num_output_tokens: int = 0
    num_preemptions: int = 0

    @property
    def sampling_params(self) -> Any:
        return SimpleNamespace(extra_args=self.extra_args)

    @property
    def num_tokens(self) -> int:
        return self.num_prompt_tokens + self.num_output_tokens


class FakeQueue(deque[FakeRequest]):
    """vLLM's FCFSRequestQueue."""

    add_request = deque.append
    pop_request = deque.popleft
    prepend_request = deque.appendleft
    prepend_requests = deque.extendleft

    def peek_request(self) -> FakeRequest:
        return self[0]

    def remove_requests(self, requests: Iterable[FakeRequest]) -> None:
        gone = set(requests)
        kept = [request for request in self if request not in gone]
        self.clear()
        self.extend(kept)


@dataclass
class FakeScheduler:
    """Admits whole prompts and decodes one token a step; the shape of vLLM 0.32's Scheduler."""

    max_num_running_reqs: int = 4
    max_num_active_reqs: int = 4
    max_num_scheduled_tokens: int = 256
    waiting: Any = field(default_factory=FakeQueue)
    running: list[FakeRequest] = field(default_factory=list)
    requests: dict[str, FakeRequest] = field(default_factory=dict)
    block_size: int = 16
    max_model_len: int = 1024
    num_gpu_blocks: int = 101

    def __post_init__(self) -> None:
        self.scheduler_config = SimpleNamespace(max_num_batched_tokens=256)
        self.kv_cache_config = SimpleNamespace(kv_cache_groups=[object()])
        pool = SimpleNamespace(num_gpu_blocks=self.num_gpu_blocks)
        self.kv_cache_manager = SimpleNamespace(block_pool=pool, usage=0.25)
        self._inflight_prefills: set[FakeRequest] = set()
        self.prev_step_scheduled_req_ids: set[str] = set()
        self.connector: Any = None
        self.host: Any = None

    def get_request_counts(self) -> tuple[int, int]:
        return len(self.running), len(self.waiting)

    def add(self, host: Any, request: FakeRequest) -> FakeRequest:
        host.arrived(request)
        self.requests[request.request_id] = request
        self.waiting.add_request(request)
        return request

    def step(self, host: Any) -> list[str]:
        """One schedule and update; returns the ids that started."""
        self.host = host
        host.before_step()
        tokens = {request.request_id: 1 for request in self.running}
        new: list[str] = []
        while self.waiting and len(self.running) < self.max_num_active_reqs:
            request = self.waiting.peek_request()
            assert self.waiting.pop_request() is request
            request.status = Status.RUNNING
            self.running.append(request)
            tokens[request.request_id] = request.num_tokens
            new.append(request.request_id)
        for name, count in tokens.items():
            self.requests[name].num_computed_tokens += count
        output = SimpleNamespace(
            num_scheduled_tokens=tokens,
            total_num_scheduled_tokens=sum(tokens.values()),
            scheduled_new_reqs=[SimpleNamespace(req_id=name) for name in new],
            scheduled_cached_reqs=SimpleNamespace(resumed_req_ids=set()),
        )
        host.after_step(output)
        for request in self.running:
            request.num_output_tokens += 1
        host.after_update(output)
        return new

    def preempt(self, host: Any, request: FakeRequest) -> None:
        self.host = host
        self.running.remove(request)
        self._preempt_request(request, 0.0)

    def _request_blocks_can_be_freed(self, request: FakeRequest) -> bool:
        return True

    def _preempt_request(self, request: FakeRequest, timestamp: float) -> None:
        assert request.status is Status.RUNNING
        self.host.preempting(request)
        request.status, request.num_computed_tokens = Status.PREEMPTED, 0
        request.num_preemptions += 1
        self.waiting.prepend_request(request)
        self.host.preempted(request)

    def finish(self, host: Any, request: FakeRequest, status: Status) -> None:
        if request in self.running:
            self.running.remove(request)
        else:
            self.waiting.remove_requests([request])
        request.status = status
        host.leaving(request)
        del self.requests[request.request_id]
