"""What a request costs: priced tokens and predicted seconds, what is left of both."""

from __future__ import annotations

from hmas.engine.topologies.queued import QueuedRequest

OUTPUT_TOKEN_PRICE = 2.0
"""Output tokens cost twice an input token (w_o = 2 · w_i, paper B.2)."""


def token_cost(request: QueuedRequest) -> float:
    """Priced tokens that the request is expected to take."""
    features = request.features
    return features.prompt_tokens + OUTPUT_TOKEN_PRICE * features.predicted_output_tokens


def weighted_cost(request: QueuedRequest) -> float:
    """:func:`token_cost` over the tenant's weight, never 0: what a fair share is measured in."""
    return max(1.0, token_cost(request)) / request.features.tenant_weight


def remaining_output_tokens(request: QueuedRequest) -> int:
    """Predicted tokens still to come, at least one, after ``produced`` of an earlier run."""
    return max(1, request.features.predicted_output_tokens - request.produced)


def remaining_work(request: QueuedRequest) -> float:
    """Priced tokens still to compute: after a preemption the prompt and the output so far too."""
    again = request.features.prompt_tokens + request.produced
    return again + OUTPUT_TOKEN_PRICE * remaining_output_tokens(request)


def remaining_service_s(request: QueuedRequest) -> float:
    """T_tot of what is still to come (paper 3.2), in seconds."""
    features = request.features
    decode_ms = features.predicted_tpot_ms * remaining_output_tokens(request)
    return (features.predicted_ttft_ms + decode_ms) / 1000.0
