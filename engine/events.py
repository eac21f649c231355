"""What engines and gateways tell the daemon: small frozen events in numbered batches."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from hmas.engine.directive import StepModel
from hmas.engine.features import RequestFeatures


class Outcome(StrEnum):
    """How a request ended."""

    COMPLETED = "completed"
    ABORTED = "aborted"
    FAILED = "failed"


class ShedReason(StrEnum):
    """Why a request was not served; the wording of ``x-hmas-dropped-reason``."""

    SATURATED = "saturated"
    TTL_EXPIRED = "ttl-expired"
    SLO_INFEASIBLE = "slo-infeasible"
    NO_ENGINE = "no-engine"
    SHUTTING_DOWN = "shutting-down"


class StepStats(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    """One engine step, or the last of ``steps`` merged ones (sums over them, last state).

    ``busy_s`` is time spent in steps, ``span_s`` the wall time they cover; ``context_tokens``
    is the sum over scheduled sequences of the tokens they attend to, summed over steps.
    """

    at_s: float
    step: int
    steps: int
    busy_s: float
    span_s: float
    running: int
    waiting: int
    prefill_tokens: int
    decode_tokens: int
    context_tokens: int
    sequences: int
    kv_used: float
    preemptions: int
    token_budget: int
    n_run: int
    directive_version: int
    topology: str
    bypass: bool
    lease_expired: bool = False
    doubt: str = ""


class RequestArrived(msgspec.Struct, frozen=True, kw_only=True, tag="arrived"):
    at_s: float
    features: RequestFeatures


class RequestFirstToken(msgspec.Struct, frozen=True, kw_only=True, tag="first_token"):
    """``queue_s``: from the engine's queue to its first scheduled step."""

    at_s: float
    request_id: str
    ttft_s: float
    queue_s: float = 0.0
    cached_tokens: int = 0


class RequestFinished(msgspec.Struct, frozen=True, kw_only=True, tag="finished"):
    """The truth about one request; ``tpot_s`` is 0 when fewer than two tokens came out."""

    at_s: float
    features: RequestFeatures
    outcome: Outcome
    prompt_tokens: int
    output_tokens: int
    ttft_s: float
    tpot_s: float
    queue_s: float = 0.0
    preemptions: int = 0

    @property
    def ttft_ok(self) -> bool:
        return self.outcome is Outcome.COMPLETED and self.ttft_s * 1000 <= self.features.slo_ttft_ms

    @property
    def tpot_ok(self) -> bool:
        return self.outcome is Outcome.COMPLETED and self.tpot_s * 1000 <= self.features.slo_tpot_ms

    @property
    def slo_ok(self) -> bool:
        """OK(r) of the paper's Eq. 1."""
        return self.ttft_ok and self.tpot_ok


class RequestShed(msgspec.Struct, frozen=True, kw_only=True, tag="shed"):
    at_s: float
    features: RequestFeatures
    reason: ShedReason


class RequestLearned(msgspec.Struct, frozen=True, kw_only=True, tag="learned"):
    """What may be learned from one finished request of a tenant that agreed to it.

    Never its text: ``numbers`` are counts and shares, ``words`` hashed words, ``opening`` the
    hash of the first ones, ``session`` a hash. Lengths are tokens, as the engine counted them;
    ``features`` is x_r.
    """

    at_s: float
    features: RequestFeatures
    prompt_tokens: int
    output_tokens: int
    ttft_s: float
    tpot_s: float
    model: Annotated[str, msgspec.Meta(max_length=1024)] = ""
    session: Annotated[str, msgspec.Meta(max_length=64)] = ""
    numbers: Annotated[list[float], msgspec.Meta(max_length=256)] = []
    words: Annotated[list[int], msgspec.Meta(max_length=1024)] = []
    opening: int = 0


Event = (
    StepStats | RequestArrived | RequestFirstToken | RequestFinished | RequestShed | RequestLearned
)


class EventBatch(msgspec.Struct, frozen=True, kw_only=True, tag="events"):
    """Events of one source in order; ``sequence`` counts batches from 1 since ``boot_id``.

    ``dropped`` counts events that the source itself had to drop since its start.
    """

    source: str
    kind: str
    boot_id: str
    sequence: int
    sent_at_s: float
    events: list[Event]
    dropped: int = 0


class EngineNotice(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway may show of one engine, and the step-time model fitted to it.

    Predictions use the model where it came; dispatch depends on nothing here.
    """

    engine_id: str
    topology: str
    bypass: bool
    directive_version: int
    step_model: StepModel | None = None


class ControlNotice(msgspec.Struct, frozen=True, kw_only=True, tag="notice"):
    """Daemon to gateways, about once a second."""

    at_s: float
    engines: list[EngineNotice]
