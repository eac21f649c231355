"""Builders of events, views and descriptions; every test names only what it is about."""

from __future__ import annotations

from typing import Any

from hmas.controllers.meta.base import MetaContext
from hmas.controllers.views import LengthMix, VLong, VShort
from hmas.engine.directive import (
    Directive,
    DirectiveReply,
    EngineDescription,
    EngineLimits,
)
from hmas.engine.events import (
    Outcome,
    RequestArrived,
    RequestFinished,
    RequestFirstToken,
    StepStats,
)
from hmas.engine.features import RequestFeatures
from hmas.engine.topologies import hint_bounds

OF_THE_PAPER = ("fcfs", "edf", "sjf", "two_lane", "wfq")
"""An engine without `on_time`: what the rules of the paper's C.2 choose from."""

ENGINE = "engine0"
LIMITS = EngineLimits(
    max_num_seqs=256,
    max_num_batched_tokens=8192,
    kv_blocks=10_000,
    block_size=16,
    max_model_len=8192,
)


def describe(**changes: Any) -> EngineDescription:
    fields: dict[str, Any] = {
        "engine_id": ENGINE,
        "boot_id": "boot1",
        "kind": "simulator",
        "kind_version": "1",
        "model": "test",
        "rank": 0,
        "limits": LIMITS,
        "topologies": list(OF_THE_PAPER),
        "active": None,
        "lease_expired": False,
    }
    return EngineDescription(**(fields | changes))


def features(request_id: str = "r1", arrival_s: float = 0.0, **changes: Any) -> RequestFeatures:
    fields: dict[str, Any] = {
        "prompt_tokens": 100,
        "predicted_output_tokens": 50,
        "slo_ttft_ms": 1000.0,
        "slo_tpot_ms": 100.0,
        "known": True,
    }
    return RequestFeatures(request_id=request_id, arrival_s=arrival_s, **(fields | changes))


def arrived(request: RequestFeatures) -> RequestArrived:
    return RequestArrived(at_s=request.arrival_s, features=request)


def first_token(request: RequestFeatures, ttft_s: float = 0.1) -> RequestFirstToken:
    return RequestFirstToken(
        at_s=request.arrival_s + ttft_s, request_id=request.request_id, ttft_s=ttft_s
    )


def finished(request: RequestFeatures, **changes: Any) -> RequestFinished:
    fields: dict[str, Any] = {
        "outcome": Outcome.COMPLETED,
        "prompt_tokens": request.prompt_tokens,
        "output_tokens": 50,
        "ttft_s": 0.1,
        "tpot_s": 0.05,
    }
    fields |= changes
    ended_s = request.arrival_s + fields["ttft_s"] + fields["tpot_s"] * fields["output_tokens"]
    return RequestFinished(at_s=fields.pop("at_s", ended_s), features=request, **fields)


def step(at_s: float, **changes: Any) -> StepStats:
    fields: dict[str, Any] = {
        "step": 1,
        "steps": 1,
        "busy_s": 0.05,
        "span_s": 0.05,
        "running": 10,
        "waiting": 0,
        "prefill_tokens": 100,
        "decode_tokens": 10,
        "context_tokens": 5000,
        "sequences": 11,
        "kv_used": 0.3,
        "preemptions": 0,
        "token_budget": 8192,
        "n_run": 256,
        "directive_version": 1,
        "topology": "edf",
        "bypass": False,
    }
    return StepStats(at_s=at_s, **(fields | changes))


def short(at_s: float = 0.0, **changes: Any) -> VShort:
    fields: dict[str, Any] = {"running": 10, "waiting": 0, "kv_used": 0.3, "topology": "edf"}
    return VShort(at_s=at_s, engine_id=ENGINE, **(fields | changes))


def long(start_s: float = 0.0, **changes: Any) -> VLong:
    fields: dict[str, Any] = {
        "end_s": start_s + 10.0,
        "completed": True,
        "arrivals": 100,
        "rps": 10.0,
        "samples": 100,
        "prompt": LengthMix(shares={2: 1.0}, mean=200.0, variance=1e4),
        "output": LengthMix(shares={1: 1.0}, mean=100.0, variance=1e4),
        "unknown_share": 0.0,
    }
    rate = changes.get("violation_rate")
    if rate is not None and "ttft_violation_rate" not in changes:
        fields["ttft_violation_rate"] = rate
    return VLong(engine_id=ENGINE, start_s=start_s, **(fields | changes))


def context(*windows: VLong, **changes: Any) -> MetaContext:
    names = list(OF_THE_PAPER)
    fields: dict[str, Any] = {
        "at_s": 60.0,
        "engine_id": ENGINE,
        "windows": list(windows),
        "v_short": None,
        "active": "fcfs",
        "active_hints": {},
        "stable": "fcfs",
        "topology_age_s": 60.0,
        "available": names,
        "quarantined": {},
        "hint_bounds": {name: hint_bounds(name) for name in names},
    }
    return MetaContext(**(fields | changes))


def reply(directive: Directive, **changes: Any) -> DirectiveReply:
    fields: dict[str, Any] = {
        "engine_id": ENGINE,
        "boot_id": "boot1",
        "accepted": True,
        "active_version": directive.version,
        "topology": directive.topology,
        "bypass": directive.bypass,
        "step": 1,
    }
    return DirectiveReply(**(fields | changes))
