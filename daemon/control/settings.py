"""Settings of the control loop's surroundings; the controllers' own are ``ControlConfig``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, SecretStr, model_validator

Seconds = Annotated[float, Field(gt=0, le=86_400)]


class Section(BaseModel):
    """Base of the daemon's sections: frozen, unknown keys are errors, no values in errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class DaemonSettings(Section):
    """``daemon:`` how the loops run and where they listen."""

    discover: bool = True
    """Control every engine whose socket appears in ``runtime_dir``, listed or not."""
    discover_s: Seconds = 2.0
    """How often new, lost and returning engines are looked for."""
    engine_timeout_s: Seconds = 1.0
    """How long an engine may take to answer before it counts as unreachable."""
    log_every_s: Seconds = 30.0
    """The sentence of a cycle is logged when it changes, and at least this often."""
    view_every_s: Annotated[float, Field(ge=0, le=86_400)] = 1.0
    """Time between two stored V_short of one engine; every cycle has one in memory."""
    request_sample: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the finished requests that are stored."""
    resume_every_s: Seconds = 5.0
    """How often D_b and the rest of what a restart needs is stored."""
    retention_s: Annotated[float, Field(ge=1, le=7 * 86_400)] = 3600.0
    """How often old records are rolled up and removed."""
    gateway_events: str | None = None
    """Where gateways' events are heard; default ``ipc://<runtime_dir>/gateway-events``."""
    notices: str | None = None
    """Where gateways hear what is active; default ``ipc://<runtime_dir>/notices``."""
    curve_dir: Path | None = None
    """CURVE keys, for endpoints that start with ``tcp://``."""


class LlmSettings(Section):
    """``meta.llm:`` any OpenAI-compatible endpoint."""

    base_url: HttpUrl
    """Up to and including ``/v1``."""
    model: Annotated[str, Field(min_length=1, max_length=256)]
    api_key: SecretStr | None = None
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 20.0
    """For one decision, all attempts together."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    """Calls for one decision; only lost connections, 429 and 5xx are tried again."""
    calls_per_hour: Annotated[int, Field(ge=1, le=100_000)] = 240
    """Beyond this the rules decide until an hour has passed."""
    max_answer_bytes: Annotated[int, Field(ge=256, le=1024 * 1024)] = 16_384
    """A longer answer is cut off and refused."""
    max_tokens: Annotated[int, Field(ge=16, le=100_000)] = 512
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    seed: int | None = None


class MetaSettings(Section):
    """``meta:`` who chooses the topology."""

    primary: Literal["rules", "llm"] = "rules"
    """``llm`` falls back to the rules, and those to holding what is active."""
    shadow: tuple[Literal["rules", "llm"], ...] = ()
    """Asked and recorded for comparison, never applied."""
    llm: LlmSettings | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.llm is None and "llm" in (self.primary, *self.shadow):
            raise ValueError("llm is to be asked, but meta.llm is missing: add base_url and model")
        return self
