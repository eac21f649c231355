"""Request features: the paper's x_r, and how they travel to the engine."""

from __future__ import annotations

from bisect import bisect_left
from enum import StrEnum
from typing import Annotated, Final

import msgspec

XARGS_KEY: Final = "hmas"
"""Key of the features in ``vllm_xargs``; unmodified vLLM ignores it."""

MAX_ENCODED_BYTES: Final = 4096

LENGTH_BUCKET_EDGES: Final = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
"""Upper edges, in prompt tokens, of the calibration buckets b(r) (paper E.2)."""


class TaskType(StrEnum):
    """Semantic task types of the paper's Table 6, and the deterministic fallback."""

    QA = "QA"
    DIALOGUE = "Dialogue"
    TRANSLATION = "Translation"
    EXTRACTION = "Extraction"
    PARAPHRASING = "Paraphrasing"
    CODE_GENERATION = "CodeGeneration"
    INSTRUCTION_FOLLOWING = "InstructionFollowing"
    SUMMARIZATION = "Summarization"
    LETTER_DRAFTING = "LetterDrafting"
    MATH_REASONING = "MathReasoning"
    ESSAY_GENERATION = "EssayGeneration"
    LONG_FORM_GENERATION = "LongFormGeneration"
    RESEARCH_AND_COMMUNICATION = "ResearchAndCommunication"
    UNKNOWN = "Unknown"


def length_bucket(prompt_tokens: int) -> int:
    """Calibration bucket of a prompt, 0 to ``len(LENGTH_BUCKET_EDGES)``."""
    return bisect_left(LENGTH_BUCKET_EDGES, prompt_tokens)


class InvalidFeaturesError(ValueError):
    """The encoded features are not what this version can read; serve as unknown."""


NonNegativeFloat = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
PositiveFloat = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
TokenCount = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
ShortText = Annotated[str, msgspec.Meta(max_length=256)]


class RequestFeatures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one request before it runs (x_r, paper 3.2).

    Times are seconds since the epoch, SLOs and predictions milliseconds, lengths tokens.
    ``priority`` is higher = more important (vLLM means the opposite: translate at the edge).
    ``known`` is false when perception fell back to priors.
    """

    request_id: ShortText
    arrival_s: NonNegativeFloat
    tenant: ShortText = "default"
    tenant_weight: PositiveFloat = 1.0
    task_type: TaskType = TaskType.UNKNOWN
    importance: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.75
    priority: Annotated[int, msgspec.Meta(ge=-1000, le=1000)] = 0
    slo_ttft_ms: PositiveFloat = 6000.0
    slo_tpot_ms: PositiveFloat = 100.0
    prompt_tokens: TokenCount = 0
    predicted_output_tokens: TokenCount = 256
    predicted_ttft_ms: NonNegativeFloat = 0.0
    predicted_tpot_ms: NonNegativeFloat = 0.0
    length_bucket: Annotated[int, msgspec.Meta(ge=0, le=64)] = 0
    job_id: ShortText | None = None
    stage: Annotated[int, msgspec.Meta(ge=0, le=10_000)] | None = None
    role: ShortText | None = None
    known: bool = False

    @property
    def service_time_s(self) -> float:
        """T_tot: predicted seconds of service (paper 3.2)."""
        decode_ms = self.predicted_tpot_ms * self.predicted_output_tokens
        return (self.predicted_ttft_ms + decode_ms) / 1000.0

    @property
    def deadline_s(self) -> float:
        """D_r: absolute completion deadline (paper 3.5)."""
        decode_ms = self.slo_tpot_ms * self.predicted_output_tokens
        return self.arrival_s + (self.slo_ttft_ms + decode_ms) / 1000.0

    @property
    def first_token_deadline_s(self) -> float:
        """When the first token must be out for the TTFT target to hold."""
        return self.arrival_s + self.slo_ttft_ms / 1000.0

    def slack_s(self, system_delay_s: float) -> float:
        """S_r: remaining slack, lower is more urgent (paper Eq. 5)."""
        return self.deadline_s - system_delay_s - self.service_time_s


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(RequestFeatures)


def encode_features(features: RequestFeatures) -> str:
    """Compact JSON, one string: vLLM refuses nested values in ``vllm_xargs``.

    Raises:
        InvalidFeaturesError: longer than ``MAX_ENCODED_BYTES``.
    """
    encoded = _encoder.encode(features)
    if len(encoded) > MAX_ENCODED_BYTES:
        raise InvalidFeaturesError(
            f"features take {len(encoded)} bytes, at most {MAX_ENCODED_BYTES} are allowed"
        )
    return encoded.decode()


def decode_features(encoded: str | bytes) -> RequestFeatures:
    """The inverse of :func:`encode_features`.

    Raises:
        InvalidFeaturesError: not JSON, too long, a field missing or out of range.
    """
    size = len(encoded) if isinstance(encoded, bytes) else len(encoded.encode("utf-8", "replace"))
    if size > MAX_ENCODED_BYTES:
        raise InvalidFeaturesError(f"features take {size} bytes, at most {MAX_ENCODED_BYTES}")
    try:
        return _decoder.decode(encoded)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidFeaturesError(str(error)) from error
