"""Explicit claims: the headers and body fields that clients of this ecosystem already send.

Within one list the first present header wins; a header beats the body. A header that is out of
range is the client's error and named so; a strange body field is only ignored, because it may
mean something else to the engine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from hmas.controllers.perception.incoming import Claims
from hmas.engine.features import TaskType

TTFT_HEADERS: Final = ("x-slo-ttft-ms", "x-llm-d-slo-ttft-ms", "x-dynamo-slo-ttft-ms")
TPOT_HEADERS: Final = ("x-slo-tpot-ms", "x-llm-d-slo-tpot-ms")
TENANT_HEADERS: Final = ("x-llm-d-inference-fairness-id", "x-gateway-inference-fairness-id")
PRIORITY_HEADERS: Final = ("x-request-priority", "x-vllm-priority", "x-dynamo-request-priority")
LOWER_FIRST_HEADERS: Final = frozenset({"x-vllm-priority"})
"""Headers in vLLM's polarity (lower = more important): negated at this edge."""
JOB_HEADERS: Final = (
    "x-session-id",
    "x-dynamo-session-id",
    "x-claude-code-session-id",
    "session-id",
)
TASK_TYPE_HEADER: Final = "x-hmas-task-type"
IMPORTANCE_HEADER: Final = "x-hmas-importance"

MAX_SLO_MS: Final = 86_400_000.0
MAX_PRIORITY: Final = 1000
MAX_TEXT: Final = 256
MAX_TOKENS: Final = 2**31
SERVICE_TIER_IMPORTANCE: Final[Mapping[str, float]] = {"flex": 0.5, "priority": 1.0}

_TASK_TYPES: Final = {task.value.lower(): task for task in TaskType if task is not TaskType.UNKNOWN}


class InvalidClaimError(ValueError):
    """A header that the client sent is out of range; ``header`` names it."""

    def __init__(self, header: str, wanted: str) -> None:
        super().__init__(f"header `{header}` must be {wanted}")
        self.header = header


class BodyHints(msgspec.Struct, frozen=True):
    """Fields of the request body that say something about scheduling, as they were sent."""

    priority: object = None
    service_tier: object = None
    session_id: object = None
    metadata: Mapping[str, object] = msgspec.field(default_factory=dict)
    output_tokens: object = None
    agent_priority: object = None


NO_HINTS: Final = BodyHints()


def read_claims(
    headers: Mapping[str, str], body: BodyHints = NO_HINTS, *, trusted: bool = False
) -> Claims:
    """What the client says; tenant claims are read from trusted clients only.

    Raises:
        InvalidClaimError: a header out of range.
    """
    metadata = body.metadata
    return Claims(
        task_type=_task_header(headers) or _task_type(metadata.get("task_type")),
        importance=_importance(headers, body),
        priority=_priority(headers, body),
        slo_ttft_ms=_slo_header(headers, TTFT_HEADERS),
        slo_tpot_ms=_slo_header(headers, TPOT_HEADERS),
        output_tokens=_whole(body.output_tokens, 1, MAX_TOKENS),
        tenant=_text_header(headers, TENANT_HEADERS) if trusted else None,
        job_id=_job(headers, body),
        stage=_whole(metadata.get("stage"), 0, 10_000),
        role=_text(metadata.get("role")),
    )


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str] | None:
    for name in names:
        value = headers.get(name)
        if value:
            return name, value.strip()
    return None


def _slo_header(headers: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    found = _first(headers, names)
    if found is None:
        return None
    name, value = found
    target_ms = _number(value)
    if target_ms is None or not 0 < target_ms <= MAX_SLO_MS:
        raise InvalidClaimError(name, f"milliseconds, above 0 and at most {MAX_SLO_MS:.0f}")
    return target_ms


def _text_header(headers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    found = _first(headers, names)
    if found is None:
        return None
    name, value = found
    if _text(value) is None:
        raise InvalidClaimError(name, f"printable text of 1 to {MAX_TEXT} characters")
    return value


def _task_header(headers: Mapping[str, str]) -> TaskType | None:
    value = headers.get(TASK_TYPE_HEADER)
    if not value or value == TaskType.UNKNOWN:
        return None
    task_type = _task_type(value)
    if task_type is None:
        raise InvalidClaimError(
            TASK_TYPE_HEADER, "one of " + ", ".join(task.value for task in _TASK_TYPES.values())
        )
    return task_type


def _task_type(value: object) -> TaskType | None:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        return None
    return _TASK_TYPES.get(value.replace("_", "").replace("-", "").replace(" ", "").lower())


def _importance(headers: Mapping[str, str], body: BodyHints) -> float | None:
    value = headers.get(IMPORTANCE_HEADER)
    if value:
        importance = _number(value)
        if importance is None or not 0.5 <= importance <= 1:
            raise InvalidClaimError(IMPORTANCE_HEADER, "a number from 0.5 to 1")
        return importance
    if isinstance(body.service_tier, str):
        return SERVICE_TIER_IMPORTANCE.get(body.service_tier)
    return None


def _priority(headers: Mapping[str, str], body: BodyHints) -> int | None:
    found = _first(headers, PRIORITY_HEADERS)
    if found is not None:
        return _header_priority(*found)
    if isinstance(body.priority, int) and not isinstance(body.priority, bool):
        return _clamp_priority(-body.priority)
    agent = body.agent_priority
    if isinstance(agent, int) and not isinstance(agent, bool):
        return _clamp_priority(agent)
    return None


def _header_priority(name: str, value: str) -> int:
    try:
        priority = int(value) if len(value) <= 8 else MAX_PRIORITY + 1
    except ValueError:
        priority = MAX_PRIORITY + 1
    if abs(priority) > MAX_PRIORITY:
        raise InvalidClaimError(name, f"a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}")
    return -priority if name in LOWER_FIRST_HEADERS else priority


def _clamp_priority(priority: int) -> int:
    return max(-MAX_PRIORITY, min(MAX_PRIORITY, priority))


def _job(headers: Mapping[str, str], body: BodyHints) -> str | None:
    return (
        _text_header(headers, JOB_HEADERS)
        or _text(body.session_id)
        or _text(body.metadata.get("job_id"))
        or _text(body.metadata.get("session_id"))
    )


def _text(value: object) -> str | None:
    # Unprintable includes the lone surrogates that undecodable header bytes turn into.
    if isinstance(value, str) and 0 < len(value) <= MAX_TEXT and value.isprintable():
        return value
    return None


def _whole(value: object, low: int, high: int) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    return None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
