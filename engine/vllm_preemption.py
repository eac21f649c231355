"""Preemption by our own choice, through vLLM's own path, between two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hmas.engine.topologies import QueuedRequest
from hmas.engine.vllm_queue import TopologyQueue


def knows_how(scheduler: Any) -> bool:
    """Whether this scheduler's way of preempting is one that was tried (vLLM 0.32 upwards).

    With a KV connector, blocks may have to be delivered first: then nobody is preempted.
    """
    if not hasattr(scheduler, "_request_blocks_can_be_freed"):
        return False
    return getattr(scheduler, "connector", None) is None


def may_preempt(scheduler: Any, request: Any) -> bool:
    """Whether ``request`` is where it should be, past its prompt, with blocks to give."""
    if request.status.name != "RUNNING" or request not in scheduler.running:
        return False
    if request in scheduler._inflight_prefills or not request.num_output_tokens:
        return False
    return bool(scheduler._request_blocks_can_be_freed(request))


def preempt(
    scheduler: Any, queue: TopologyQueue, victim: QueuedRequest, monotonic: Callable[[], float]
) -> None:
    """Take the request out of the batch and back into the order.

    Raises whatever vLLM raises; the request then runs on, unless vLLM got further than that.
    """
    request = victim.payload.request
    position = scheduler.running.index(request)
    del scheduler.running[position]
    queue.yielding = request
    try:
        scheduler._preempt_request(request, monotonic())
    except Exception:
        if request.status.name == "RUNNING":
            scheduler.running.insert(position, request)
        raise
    finally:
        queue.yielding = None
    # Model runner V1 keeps the tokens of those that ran in the step before: resend them.
    scheduler.prev_step_scheduled_req_ids.discard(request.request_id)
