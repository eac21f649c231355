"""Requests of the simulator, as submitted and as they run."""

from __future__ import annotations

from typing import Any

import msgspec

from hmas.engine.features import RequestFeatures
from hmas.engine.topologies import QueuedRequest


class SimRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request with the truth about its lengths, in tokens.

    Attributes:
        features: what the scheduler may know; ``arrival_s`` orders the workload.
        output_tokens: what the model will generate unless ``max_tokens`` stops it earlier.
        prefix_hashes: one per whole prefix block of the prompt, not negative, equal for equal
            prefixes (Mooncake's ``hash_ids``); only read when the engine caches prefixes.
    """

    features: RequestFeatures
    prompt_tokens: int
    output_tokens: int
    max_tokens: int | None = None
    prefix_hashes: tuple[int, ...] = ()


class Sequence:
    """One request inside the engine; ``number`` is unique there and at least 1.

    ``computed`` tokens are in the KV cache, ``produced`` tokens were generated. While the
    sequence decodes both stand still and :class:`~hmas.engine.simulator.decode.DecodeSet`
    knows how far it came since ``joined``.
    """

    __slots__ = (
        "cached_tokens",
        "computed",
        "decoding",
        "enqueued_s",
        "first_token_s",
        "joined",
        "number",
        "payload",
        "preemptions",
        "produced",
        "queued",
        "request",
        "scheduled_s",
        "target",
        "units",
    )

    def __init__(
        self, request: SimRequest, target: int, enqueued_s: float, *, number: int, payload: Any
    ) -> None:
        self.request = request
        self.number = number
        self.target = target
        self.enqueued_s = enqueued_s
        self.payload = payload
        self.queued: QueuedRequest | None = None
        self.computed = 0
        self.produced = 0
        self.decoding = False
        self.joined = 0
        self.units: list[int] = []
        self.preemptions = 0
        self.cached_tokens = 0
        self.scheduled_s: float | None = None
        self.first_token_s: float | None = None

    @property
    def tokens(self) -> int:
        """Prompt and output so far; what a prefill has to compute."""
        return self.request.prompt_tokens + self.produced

    def unit(self, index: int) -> int:
        """Identity of the prefix block ``index``: shared, or this sequence's own."""
        hashes = self.request.prefix_hashes
        return hashes[index] if index < len(hashes) else -((self.number << 32) + index)

    def __repr__(self) -> str:
        return f"Sequence({self.request.features.request_id!r}, computed={self.computed})"
