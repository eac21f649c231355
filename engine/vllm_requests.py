"""A vLLM request as the execution core sees it."""

from __future__ import annotations

from typing import Any

import msgspec

from hmas.engine.features import (
    XARGS_KEY,
    InvalidFeaturesError,
    RequestFeatures,
    decode_features,
    length_bucket,
)
from hmas.engine.topologies import QueuedRequest

UNKNOWN_OUTPUT_TOKENS = 256


class Tracked:
    """Payload of a queued request: vLLM's object and when things happened to it.

    Times are seconds since the epoch, 0 until they happen. ``number`` is the order of arrival.
    """

    __slots__ = (
        "cached_tokens",
        "first_token_at_s",
        "number",
        "queued_at_s",
        "request",
        "started_at_s",
    )

    def __init__(self, request: Any, number: int, queued_at_s: float) -> None:
        self.request = request
        self.number = number
        self.queued_at_s = queued_at_s
        self.started_at_s = 0.0
        self.first_token_at_s = 0.0
        self.cached_tokens = 0


def features_of(request: Any) -> RequestFeatures:
    """x_r from ``vllm_xargs``, with the prompt length that vLLM counted.

    Absent or unreadable features give *unknown* ones: such a request is served all the same.
    """
    encoded = _encoded_features(request)
    if encoded is None:
        return _unknown(request)
    try:
        features = decode_features(encoded)
    except InvalidFeaturesError:
        return _unknown(request)
    tokens = request.num_prompt_tokens
    if features.prompt_tokens == tokens:
        return features
    return msgspec.structs.replace(
        features, prompt_tokens=tokens, length_bucket=length_bucket(tokens)
    )


def _encoded_features(request: Any) -> str | None:
    extra = getattr(request.sampling_params, "extra_args", None)
    encoded = extra.get(XARGS_KEY) if extra else None
    return encoded if isinstance(encoded, str) else None


def _unknown(request: Any) -> RequestFeatures:
    tokens = request.num_prompt_tokens
    return RequestFeatures(
        request_id=request.request_id[:256],
        arrival_s=request.arrival_time,
        priority=max(-1000, min(1000, -request.priority)),
        prompt_tokens=tokens,
        predicted_output_tokens=min(UNKNOWN_OUTPUT_TOKENS, request.max_tokens),
        length_bucket=length_bucket(tokens),
    )


def held_tokens(queued: QueuedRequest) -> int:
    """Tokens that the request has in the KV cache once it runs: prompt and output so far."""
    tokens: int = queued.payload.request.num_tokens
    return tokens


def most_output_tokens(queued: QueuedRequest) -> int | None:
    """The client's own limit on the output."""
    limit: int | None = queued.payload.request.max_tokens
    return limit


def stock_rank(queued: QueuedRequest) -> tuple[bool, float, int]:
    """Sort key of vLLM's FCFS queue: preempted requests first, then by arrival."""
    tracked = queued.payload
    request = tracked.request
    return not is_preempted(request), request.arrival_time, tracked.number


def is_preempted(request: Any) -> bool:
    return bool(request.status.name == "PREEMPTED")
