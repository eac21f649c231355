"""Words that all models of the admin API share, and the form of its errors."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

ALL_ENGINES = "*"

EpochS = Annotated[float, Field(description="seconds since the Unix epoch")]
Share = Annotated[float, Field(description="between 0 and 1")]
Evidence = dict[str, JsonValue]


class Owner(StrEnum):
    """Who decided what an engine runs now, strongest first (guards' precedence)."""

    OPERATOR = "operator"
    BYPASS = "bypass"
    PIN = "pin"
    ROLLBACK = "rollback"
    META = "meta"
    DEFAULT = "default"


class AckState(StrEnum):
    """What the engine said to its last directive."""

    ACK = "ack"
    NACK = "nack"
    PENDING = "pending"
    NO_ANSWER = "no-answer"
    NONE = "none"


class Verdict(StrEnum):
    """A guard's finding; ``inconclusive`` had too few samples, ``error`` could not measure."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"


class Horizon(StrEnum):
    """Which view: ``short`` is V_short of every cycle, ``long`` is V_long of whole windows."""

    SHORT = "short"
    LONG = "long"


class OverrideKind(StrEnum):
    PIN = "pin"
    CONTROLS = "controls"
    BYPASS = "bypass"


class Role(StrEnum):
    """``viewer`` reads; ``operator`` also pins, overrides and bypasses."""

    VIEWER = "viewer"
    OPERATOR = "operator"


class ErrorCode(StrEnum):
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    INVALID = "invalid"
    NOT_FOUND = "not-found"
    CONFLICT = "conflict"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


class Answer(BaseModel):
    """Base of what the API returns."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Request(BaseModel):
    """Base of what the API accepts."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class ProblemOut(Answer):
    """One thing that is wrong with the input, and how to put it right."""

    field: str
    message: str
    fix: str = ""


class ErrorDetail(Answer):
    """What went wrong, in one line, and every problem of the input."""

    code: ErrorCode
    message: str
    problems: tuple[ProblemOut, ...] = ()


class ErrorOut(Answer):
    """Every error of the API has this form."""

    error: ErrorDetail
    api: Literal["hmas/v1"] = "hmas/v1"
