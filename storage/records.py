"""What is kept: one frozen record per fact, each with its engine id and its own key.

Times are seconds since the epoch. Appending a record whose ``key`` is already there replaces
the older one, so an acknowledgement or a revocation is the same record with more filled in
(``msgspec.structs.replace``). Payloads are JSON objects: whatever msgspec can encode may be
given; it comes back as plain dicts, lists, strings, numbers, booleans and None. NaN and the
infinities in a payload come back as None, NUL and lone surrogates in any text as U+FFFD.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar

import msgspec

from hmas.engine.events import RequestFinished, RequestLearned, RequestShed
from hmas.engine.features import ShortText

Payload = dict[str, Any]
Key = tuple[str | int | float, ...]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]

ALL_ENGINES = "*"
"""Engine id of records that concern every engine."""


class Horizon(StrEnum):
    """Time scale of a view; ``SHORT_MINUTE`` holds short views rolled up per minute."""

    SHORT = "short"
    LONG = "long"
    SHORT_MINUTE = "short_minute"


class DecisionRole(StrEnum):
    """Whether a decision counts, or was only recorded for comparison."""

    PRIMARY = "primary"
    SHADOW = "shadow"


class AckState(StrEnum):
    """What the engine said to a directive."""

    PENDING = "pending"
    ACKED = "acked"
    NACKED = "nacked"
    UNREACHABLE = "unreachable"


class OverrideKind(StrEnum):
    """What an operator overrides."""

    PIN = "pin"
    CONTROLS = "controls"
    BYPASS_SWITCH = "bypass_switch"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all records; ``time_field`` names the time that lists and retention go by."""

    record_kind: ClassVar[str]
    key_fields: ClassVar[tuple[str, ...]]
    time_field: ClassVar[str]

    engine_id: ShortText

    @property
    def key(self) -> Key:
        """What makes this record unique among its kind."""
        return tuple(getattr(self, name) for name in self.key_fields)

    @property
    def time_s(self) -> float:
        """When it happened, in seconds since the epoch."""
        return float(getattr(self, self.time_field))


class ViewRecord(Record, frozen=True, kw_only=True):
    """One V_short or V_long of one engine, or a minute of rolled-up short views."""

    record_kind: ClassVar[str] = "view"
    key_fields: ClassVar[tuple[str, ...]] = ("engine_id", "horizon", "at_s")
    time_field: ClassVar[str] = "at_s"

    horizon: Horizon
    at_s: float
    payload: Payload = {}


class DecisionRecord(Record, frozen=True, kw_only=True):
    """What a meta-controller proposed, why, from which inputs, and what became of it.

    ``outcome`` is ``accepted``, ``refused``, ``held`` or another word of the controllers' room;
    ``effect`` is filled in later, once the guard window has measured it.
    """

    record_kind: ClassVar[str] = "decision"
    key_fields: ClassVar[tuple[str, ...]] = ("id",)
    time_field: ClassVar[str] = "at_s"

    id: ShortText
    at_s: float
    controller: ShortText
    outcome: ShortText
    role: DecisionRole = DecisionRole.PRIMARY
    topology: ShortText | None = None
    hints: Payload = {}
    bypass: bool = False
    reason: str = ""
    inputs: Payload = {}
    refusal_kind: ShortText | None = None
    refusal_detail: str = ""
    effect: Payload | None = None


class DirectiveRecord(Record, frozen=True, kw_only=True):
    """A directive as it was sent, and the engine's answer; ``payload`` is its wire form."""

    record_kind: ClassVar[str] = "directive"
    key_fields: ClassVar[tuple[str, ...]] = ("engine_id", "version")
    time_field: ClassVar[str] = "issued_at_s"

    version: Annotated[int, msgspec.Meta(ge=1, le=2**62)]
    issued_at_s: float
    payload: Payload
    owner: ShortText
    cause: ShortText = ""
    sentence: str = ""
    ack: AckState = AckState.PENDING
    ack_reason: str = ""
    acked_at_s: float | None = None
    step: Count | None = None


class OverrideRecord(Record, frozen=True, kw_only=True):
    """An operator's override of one engine, or of all (``ALL_ENGINES``), until revoked."""

    record_kind: ClassVar[str] = "override"
    key_fields: ClassVar[tuple[str, ...]] = ("id",)
    time_field: ClassVar[str] = "created_at_s"

    id: ShortText
    kind: OverrideKind
    payload: Payload = {}
    reason: str
    owner: ShortText
    created_at_s: float
    expires_at_s: float | None = None
    revoked_at_s: float | None = None
    revoked_by: ShortText | None = None

    def is_active(self, now_s: float) -> bool:
        expired = self.expires_at_s is not None and self.expires_at_s <= now_s
        return self.revoked_at_s is None and not expired


class GuardEventRecord(Record, frozen=True, kw_only=True):
    """One verdict of one guard; ``detail`` holds what it measured."""

    record_kind: ClassVar[str] = "guard_event"
    key_fields: ClassVar[tuple[str, ...]] = ("engine_id", "at_s", "guard", "verdict")
    time_field: ClassVar[str] = "at_s"

    at_s: float
    guard: Annotated[str, msgspec.Meta(max_length=64)]
    verdict: Annotated[str, msgspec.Meta(max_length=64)]
    topology_from: ShortText | None = None
    topology_to: ShortText | None = None
    detail: Payload = {}


class CalibrationRecord(Record, frozen=True, kw_only=True):
    """D_b of one length bucket (paper 3.4.2): recent length errors, oldest first, in tokens."""

    record_kind: ClassVar[str] = "calibration"
    key_fields: ClassVar[tuple[str, ...]] = ("engine_id", "bucket")
    time_field: ClassVar[str] = "updated_at_s"

    bucket: Count
    errors: list[float]
    updated_at_s: float


class RequestRecord(Record, frozen=True, kw_only=True):
    """The truth about one sampled request.

    ``outcome`` is an :class:`hmas.engine.events.Outcome` or ``shed:<reason>``. ``features`` is
    x_r in its wire form, for training.
    """

    record_kind: ClassVar[str] = "request"
    key_fields: ClassVar[tuple[str, ...]] = ("request_id", "engine_id")
    time_field: ClassVar[str] = "finished_at_s"

    request_id: ShortText
    tenant: ShortText
    task_type: ShortText
    arrival_s: float
    finished_at_s: float
    prompt_tokens: Count
    predicted_output_tokens: Count
    output_tokens: Count
    ttft_s: float
    tpot_s: float
    queue_s: float
    preemptions: Count
    outcome: ShortText
    ttft_ok: bool
    tpot_ok: bool
    features: Payload = {}

    @property
    def slo_ok(self) -> bool:
        return self.ttft_ok and self.tpot_ok

    @classmethod
    def of_finished(cls, engine_id: str, event: RequestFinished) -> RequestRecord:
        """The record of a finished request."""
        features = event.features
        return cls(
            engine_id=engine_id,
            request_id=features.request_id,
            tenant=features.tenant,
            task_type=features.task_type.value,
            arrival_s=features.arrival_s,
            finished_at_s=event.at_s,
            prompt_tokens=event.prompt_tokens,
            predicted_output_tokens=features.predicted_output_tokens,
            output_tokens=event.output_tokens,
            ttft_s=event.ttft_s,
            tpot_s=event.tpot_s,
            queue_s=event.queue_s,
            preemptions=event.preemptions,
            outcome=event.outcome.value,
            ttft_ok=event.ttft_ok,
            tpot_ok=event.tpot_ok,
            features=msgspec.to_builtins(features),
        )

    @classmethod
    def of_shed(cls, engine_id: str, event: RequestShed) -> RequestRecord:
        """The record of a request that was never served."""
        features = event.features
        return cls(
            engine_id=engine_id,
            request_id=features.request_id,
            tenant=features.tenant,
            task_type=features.task_type.value,
            arrival_s=features.arrival_s,
            finished_at_s=event.at_s,
            prompt_tokens=features.prompt_tokens,
            predicted_output_tokens=features.predicted_output_tokens,
            output_tokens=0,
            ttft_s=0.0,
            tpot_s=0.0,
            queue_s=max(0.0, event.at_s - features.arrival_s),
            preemptions=0,
            outcome=f"shed:{event.reason.value}",
            ttft_ok=False,
            tpot_ok=False,
            features=msgspec.to_builtins(features),
        )


class TrainingRecord(Record, frozen=True, kw_only=True):
    """One finished request to learn from, of a tenant that agreed; never its text.

    ``payload`` holds ``numbers`` (counts and shares of the prompt), ``words`` (hashed),
    ``opening`` and ``session`` (a hash each).
    """

    record_kind: ClassVar[str] = "training"
    key_fields: ClassVar[tuple[str, ...]] = ("id",)
    time_field: ClassVar[str] = "at_s"

    engine_id: ShortText = ALL_ENGINES
    id: ShortText
    at_s: float
    tenant: ShortText
    task_type: ShortText
    model: str
    prompt_tokens: Count
    predicted_output_tokens: Count
    output_tokens: Count
    ttft_s: float
    tpot_s: float
    payload: Payload = {}

    @classmethod
    def of_learned(cls, event: RequestLearned) -> TrainingRecord:
        """The record of what a gateway learned."""
        features = event.features
        return cls(
            id=features.request_id,
            at_s=event.at_s,
            tenant=features.tenant,
            task_type=features.task_type.value,
            model=event.model,
            prompt_tokens=event.prompt_tokens,
            predicted_output_tokens=features.predicted_output_tokens,
            output_tokens=event.output_tokens,
            ttft_s=event.ttft_s,
            tpot_s=event.tpot_s,
            payload={
                "session": event.session,
                "numbers": event.numbers,
                "words": event.words,
                "opening": event.opening,
            },
        )


class PromptVersionRecord(Record, frozen=True, kw_only=True):
    """One version of a prompt; the active one with the highest version is in use."""

    record_kind: ClassVar[str] = "prompt_version"
    key_fields: ClassVar[tuple[str, ...]] = ("name", "version")
    time_field: ClassVar[str] = "created_at_s"

    engine_id: ShortText = ALL_ENGINES
    name: ShortText
    version: Annotated[int, msgspec.Meta(ge=1, le=2**62)]
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    text: str
    created_at_s: float
    author: ShortText
    reason: str = ""
    active: bool = True


class AuditRecord(Record, frozen=True, kw_only=True):
    """Who did what to what, from which inputs, with which result."""

    record_kind: ClassVar[str] = "audit"
    key_fields: ClassVar[tuple[str, ...]] = ("id",)
    time_field: ClassVar[str] = "at_s"

    engine_id: ShortText = ALL_ENGINES
    id: ShortText
    at_s: float
    actor: ShortText
    action: ShortText
    target: ShortText
    inputs: Payload = {}
    result: str = ""


class ResumeRecord(Record, frozen=True, kw_only=True):
    """What a restarted daemon needs to go on where it stopped; the latest only."""

    record_kind: ClassVar[str] = "resume"
    key_fields: ClassVar[tuple[str, ...]] = ("engine_id",)
    time_field: ClassVar[str] = "updated_at_s"

    payload: Payload
    updated_at_s: float


RECORD_TYPES: tuple[type[Record], ...] = (
    ViewRecord,
    DecisionRecord,
    DirectiveRecord,
    OverrideRecord,
    GuardEventRecord,
    CalibrationRecord,
    RequestRecord,
    PromptVersionRecord,
    AuditRecord,
    ResumeRecord,
    TrainingRecord,
)
