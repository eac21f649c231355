"""What was decided, sent, found and done."""

from __future__ import annotations

from pydantic import Field

from hmas.daemon.wire.base import AckState, Answer, EpochS, Evidence, Owner, Verdict


class RefusalOut(Answer):
    """Why a proposal could not be used."""

    kind: str
    detail: str = ""


class ProposalOut(Answer):
    """What one meta-controller proposed; shadows are recorded but never applied."""

    source: str
    primary: bool
    topology: str | None = None
    hints: dict[str, float] = Field(default_factory=dict)
    bypass: bool = False
    reason: str = ""
    latency_s: float | None = None
    refusal: RefusalOut | None = None


class DecisionOut(Answer):
    """One decision of the slow loop with the evidence it was made on."""

    id: str
    at_s: EpochS
    engine_id: str
    sentence: str
    before: str | None = None
    topology: str | None = None
    hints: dict[str, float] = Field(default_factory=dict)
    bypass: bool = False
    source: str = Field("", description="whose proposal was taken; 'hold' when nobody's")
    applied: bool = False
    proposals: tuple[ProposalOut, ...] = ()
    inputs: Evidence = Field(default_factory=dict)
    guard: Verdict | None = None
    guard_sentence: str = ""
    directive_version: int | None = None
    prompt_version: str | None = None


class DirectiveOut(Answer):
    """One directive as sent, with the engine's answer."""

    engine_id: str
    version: int
    issued_at_s: EpochS
    ttl_s: float
    topology: str
    hints: dict[str, float] = Field(default_factory=dict)
    bypass: bool = False
    n_run: int | None = None
    token_budget: int | None = None
    fence: dict[int, int] | None = None
    kv_margin: float = 0.0
    tpot_guard: float | None = None
    owner: Owner = Owner.DEFAULT
    cause: str = ""
    sentence: str = ""
    ack: AckState = AckState.NONE
    reason: str = ""
    answered_at_s: EpochS | None = None


class GuardEventOut(Answer):
    """What a guard found and did."""

    id: str
    at_s: EpochS
    engine_id: str
    guard: str = Field(description="bypass, rollback, lease, precedence")
    verdict: Verdict
    action: str = ""
    sentence: str
    measurements: Evidence = Field(default_factory=dict)


class AuditOut(Answer):
    """Who did what, why, from which inputs, with which result."""

    id: str
    at_s: EpochS
    actor: str
    action: str
    engine_id: str = ""
    sentence: str = ""
    inputs: Evidence = Field(default_factory=dict)
    result: str = ""


class RequestOut(Answer):
    """The story of one finished request (sampled)."""

    request_id: str
    engine_id: str
    tenant: str = ""
    task_type: str = ""
    known: bool = False
    arrived_at_s: EpochS
    finished_at_s: EpochS | None = None
    outcome: str
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    predicted_output_tokens: int | None = None
    slo_ttft_ms: float | None = None
    slo_tpot_ms: float | None = None
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    queue_ms: float | None = None
    preemptions: int | None = None
    slo_ok: bool | None = None
    topology: str | None = None
    directive_version: int | None = None
