"""Expected service gain of one request (paper Eq. 6, B.2)."""

from __future__ import annotations

from typing import Final

from hmas.engine.events import Outcome, RequestFinished

INPUT_WEIGHT: Final = 1.0
OUTPUT_WEIGHT: Final = 2.0
LATENCY_EXPONENT: Final = 1.0


def token_value(input_tokens: float, output_tokens: float) -> float:
    """V_base: an output token costs, and is worth, twice an input token."""
    return INPUT_WEIGHT * input_tokens + OUTPUT_WEIGHT * output_tokens


def service_gain(finished: RequestFinished) -> float:
    """``V_base · min(1, SLO_ttlt / TTLT)^alpha``; 0 for a request that did not complete."""
    if finished.outcome is not Outcome.COMPLETED:
        return 0.0
    features, outputs = finished.features, finished.output_tokens
    taken_ms = (finished.ttft_s + outputs * finished.tpot_s) * 1000.0
    allowed_ms = features.slo_ttft_ms + outputs * features.slo_tpot_ms
    value = token_value(finished.prompt_tokens, outputs)
    if taken_ms <= allowed_ms:
        return value
    return float(value * (allowed_ms / taken_ms) ** LATENCY_EXPONENT)
