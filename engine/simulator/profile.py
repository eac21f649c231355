"""Step-time profiles: what one engine on one machine can do, with where that is known from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import msgspec

from hmas.engine.directive import EngineLimits, StepModel
from hmas.engine.features import ShortText

PROFILES_DIR = Path(__file__).with_name("profiles")


class ProfileError(ValueError):
    """The profile cannot be used; the message names the field and the fix."""


class FitError(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How well the step model meets what it was fitted to: absolute relative errors."""

    points: int
    median: float
    p90: float


class Frontend(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request costs outside the engine's steps: API server, tokenisation, streaming.

    Milliseconds: from the client to the engine's queue ``request_ms`` and ``prompt_token_ms``
    for each token of the prompt; from the end of a step to the client ``output_ms``.
    """

    request_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    prompt_token_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    output_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0

    def request_s(self, prompt_tokens: int) -> float:
        """Seconds between the client and the engine's queue."""
        return (self.request_ms + self.prompt_token_ms * prompt_tokens) / 1000


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One engine: model, hardware, step-time coefficients, start-up limits.

    Attributes:
        source: where the measurements come from; ``licence`` is theirs.
        limits: vLLM's start-up limits; ``kv_blocks`` counts usable blocks, without vLLM's
            null block.
        kv_bytes_per_token: bytes of KV cache that one token takes over all layers.
        prefix_caching: whether requests with ``prefix_hashes`` share blocks by default.
        command: reproduces ``step_model``.
        frontend: costs around the engine, seen by its clients; None: not known, not simulated.
        async_scheduling: the next step is scheduled while one runs (vLLM's default on GPUs), so
            who arrives meanwhile waits one step longer.
    """

    name: ShortText
    model: ShortText
    hardware: ShortText
    source: str
    licence: str
    notes: str
    command: str
    step_model: StepModel
    limits: EngineLimits
    kv_bytes_per_token: Annotated[int, msgspec.Meta(ge=1)]
    prefix_caching: bool = False
    fit: FitError | None = None
    frontend: Frontend | None = None
    async_scheduling: bool = False


def faster(profile: Profile, speed: float) -> Profile:
    """The same engine on hardware that is ``speed`` times as fast: compressed real time."""
    if not (math.isfinite(speed) and speed > 0):
        raise ProfileError(f"speed must be above 0, got {speed}")
    coefficients = msgspec.structs.asdict(profile.step_model)
    scaled = {name: value / speed for name, value in coefficients.items()}
    return msgspec.structs.replace(profile, step_model=StepModel(**scaled))


def profile_names() -> list[str]:
    """Names of the shipped profiles, sorted."""
    return sorted(path.stem for path in PROFILES_DIR.glob("*.json"))


def load_profile(name_or_path: str) -> Profile:
    """A shipped profile by name, or any profile file by path.

    Raises:
        ProfileError: not found, not JSON, a field missing, unknown or out of range.
    """
    return decode_profile(_read(name_or_path), origin=name_or_path)


def decode_profile(payload: bytes, origin: str) -> Profile:
    """Parse and check one profile. Raises :class:`ProfileError`, which names ``origin``."""
    try:
        profile = msgspec.json.decode(payload, type=Profile)
    except msgspec.MsgspecError as error:
        raise ProfileError(f"profile {origin}: {error}") from error
    check_limits(profile.limits, origin)
    _check_step_model(profile.step_model, origin)
    return profile


def check_limits(limits: EngineLimits, origin: str) -> None:
    """What vLLM itself insists on. Raises :class:`ProfileError`."""
    for field in EngineLimits.__struct_fields__:
        if getattr(limits, field) < 1:
            raise ProfileError(f"profile {origin}: limits.{field} must be at least 1")
    if limits.kv_blocks * limits.block_size < limits.max_model_len:
        raise ProfileError(
            f"profile {origin}: limits.kv_blocks must hold one request of limits.max_model_len"
            f" ({limits.max_model_len} tokens)"
        )
    if limits.max_num_batched_tokens < limits.max_num_seqs:
        raise ProfileError(
            f"profile {origin}: limits.max_num_batched_tokens must be at least "
            f"limits.max_num_seqs ({limits.max_num_seqs})"
        )


def _check_step_model(model: StepModel, origin: str) -> None:
    for field in StepModel.__struct_fields__:
        if getattr(model, field) < 0:
            raise ProfileError(f"profile {origin}: step_model.{field} must not be negative")
    if model.base_ms <= 0:
        raise ProfileError(f"profile {origin}: step_model.base_ms must be above 0")


def _read(name_or_path: str) -> bytes:
    shipped = PROFILES_DIR / f"{name_or_path}.json"
    path = shipped if name_or_path in profile_names() else Path(name_or_path)
    try:
        return path.read_bytes()
    except OSError as error:
        names = ", ".join(profile_names())
        raise ProfileError(
            f"no profile {name_or_path!r}: give one of {names}, or the path of a profile file"
        ) from error
