"""Requests and cores for the engine room's tests."""

from __future__ import annotations

from typing import Any

from hmas.engine.core import ExecutionCore, Identity
from hmas.engine.directive import Controls, Directive, EngineLimits
from hmas.engine.features import RequestFeatures, length_bucket
from hmas.engine.topologies import QueuedRequest

LIMITS = EngineLimits(
    max_num_seqs=64,
    max_num_batched_tokens=2048,
    kv_blocks=1000,
    block_size=16,
    max_model_len=4096,
)


def features(name: str = "r", **fields: Any) -> RequestFeatures:
    fields.setdefault("arrival_s", 0.0)
    fields.setdefault("prompt_tokens", 100)
    fields.setdefault("length_bucket", length_bucket(fields["prompt_tokens"]))
    return RequestFeatures(request_id=name, **fields)


def queued(name: str = "r", **fields: Any) -> QueuedRequest:
    return QueuedRequest(features(name, **fields))


def core(limits: EngineLimits = LIMITS, **options: Any) -> ExecutionCore:
    return ExecutionCore(Identity("e", "boot", "test", "1", "tiny"), limits, **options)


def directive(version: int = 1, topology: str = "fcfs", **fields: Any) -> Directive:
    fields.setdefault("ttl_s", 5.0)
    fields.setdefault("controls", Controls())
    return Directive(engine_id="e", version=version, issued_at_s=0.0, topology=topology, **fields)


def names(requests: Any) -> list[str]:
    return [request.features.request_id for request in requests]
