"""What an operator may ask for, and what then holds."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from hmas.daemon.wire.base import ALL_ENGINES, Answer, EpochS, OverrideKind, Request


class OverrideOut(Answer):
    """An operator's override: a pin, fixed controls, or the bypass switch."""

    id: str
    kind: OverrideKind
    engine_id: str = Field(description="'*' covers every engine without one of its own")
    owner: str = Field(description="name of the operator's token")
    reason: str
    created_at_s: EpochS
    expires_at_s: EpochS | None = None
    remaining_s: float | None = Field(None, description="None: until it is removed")
    topology: str | None = None
    hints: dict[str, float] = Field(default_factory=dict)
    n_run: int | None = None
    token_budget: int | None = None


EngineTarget = Annotated[
    str,
    Field(
        min_length=1, max_length=256, description="an engine's id, or '*' for all", examples=["*"]
    ),
]
Reason = Annotated[
    str,
    Field(min_length=3, max_length=256, description="why, for whoever is on call next"),
]
DurationS = Annotated[float, Field(gt=0, le=30 * 86_400, description="seconds from now")]
FutureS = Annotated[float, Field(gt=0, le=1e11, description="absolute end, Unix seconds")]


class OverrideRequest(Request):
    """What all overrides share; without duration and end it stays until removed."""

    engine_id: EngineTarget = ALL_ENGINES
    reason: Reason
    duration_s: DurationS | None = None
    expires_at_s: FutureS | None = None
    expected_revision: int | None = Field(
        None, ge=0, description="refuse with 409 when the overrides changed since this revision"
    )

    @model_validator(mode="after")
    def one_end(self) -> Self:
        if self.duration_s is not None and self.expires_at_s is not None:
            raise ValueError("duration_s and expires_at_s exclude each other: give one of them")
        return self

    def end_s(self, now_s: float) -> float | None:
        """When the override ends; None: when somebody removes it."""
        return self.expires_at_s if self.duration_s is None else now_s + self.duration_s


class PinRequest(OverrideRequest):
    """Hold one topology against the meta-controller; a bypass still wins over a pin."""

    topology: Annotated[str, Field(min_length=1, max_length=64, examples=["edf"])]
    hints: dict[Annotated[str, Field(max_length=64)], float] = Field({}, max_length=16)


class ControlsRequest(OverrideRequest):
    """Fix N_run, B_token or both; what is left out stays with Statera."""

    n_run: int | None = Field(None, ge=1, le=1_000_000, examples=[64])
    token_budget: int | None = Field(None, ge=1, le=100_000_000, examples=[2048])

    @model_validator(mode="after")
    def something_set(self) -> Self:
        if self.n_run is None and self.token_budget is None:
            raise ValueError("give n_run, token_budget or both")
        return self


class BypassRequest(OverrideRequest):
    """The kill switch: plain FCFS with unbounded controls, over everything else."""


class OverrideChange(Answer):
    """The override that was written or removed, and the revision after it."""

    override: OverrideOut
    revision: int


class OverrideList(Answer):
    """What holds now; a write may name ``revision`` to be refused when that changed."""

    revision: int
    overrides: tuple[OverrideOut, ...]
