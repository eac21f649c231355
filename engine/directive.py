"""The directive: one versioned pair (topology + hints, controls) sent to an engine."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from hmas.engine.features import ShortText

Hints = dict[str, float]


class StepModel(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds of one engine step, linear in what the step holds.

    ``t = base + prefill·p + context·c + sequence·n + prefill_quadratic·p²`` with ``p`` the
    prompt tokens computed in this step, ``c`` the context tokens attended to by all scheduled
    sequences, ``n`` the number of scheduled sequences (HyperFlexis Eq. 1-2).
    """

    base_ms: float
    prefill_ms: float
    context_ms: float
    sequence_ms: float
    prefill_quadratic_ms: float = 0.0

    def step_ms(self, prefill_tokens: float, context_tokens: float, sequences: float) -> float:
        return (
            self.base_ms
            + self.prefill_ms * prefill_tokens
            + self.context_ms * context_tokens
            + self.sequence_ms * sequences
            + self.prefill_quadratic_ms * prefill_tokens * prefill_tokens
        )

    def max_prefill_tokens(
        self, limit_ms: float, context_tokens: float, sequences: float
    ) -> int | None:
        """Most prompt tokens that keep a step within ``limit_ms``; None: no bound."""
        spare_ms = limit_ms - self.step_ms(0, context_tokens, sequences)
        if spare_ms <= 0:
            return 0
        if self.prefill_quadratic_ms > 0:
            half = self.prefill_ms / (2 * self.prefill_quadratic_ms)
            root = math.sqrt(half * half + spare_ms / self.prefill_quadratic_ms) - half
            return int(root)
        if self.prefill_ms <= 0:
            return None
        return int(spare_ms / self.prefill_ms)


class Controls(msgspec.Struct, frozen=True, kw_only=True):
    """C_t: execution controls (paper 3.4.2). ``None`` means unbounded, as stock vLLM runs.

    Attributes:
        n_run: N_run, most requests that run at once.
        token_budget: B_token, most tokens of one step.
        fence: q_{1-eps}(D_b) in tokens per length bucket (Eq. 4), admission off when None.
        kv_margin: delta_frag, share of the KV cache that admission leaves free (Eq. 2).
        step_model: coefficients that bound a step in the engine; None: no such bound.
        tpot_guard: share of the tightest running TPOT target that a step may take.
    """

    n_run: Annotated[int, msgspec.Meta(ge=1)] | None = None
    token_budget: Annotated[int, msgspec.Meta(ge=1)] | None = None
    fence: dict[int, int] | None = None
    kv_margin: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0
    step_model: StepModel | None = None
    tpot_guard: Annotated[float, msgspec.Meta(gt=0, le=10)] = 0.9


UNBOUNDED = Controls()


class Directive(msgspec.Struct, frozen=True, kw_only=True, tag="directive"):
    """What one engine should do from its next step on.

    ``version`` strictly increases per engine; repeating the active one renews the lease.
    ``cause`` is the id of the decision behind it.
    """

    engine_id: ShortText
    version: Annotated[int, msgspec.Meta(ge=1)]
    issued_at_s: float
    ttl_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)]
    topology: ShortText
    hints: Hints = {}
    bypass: bool = False
    controls: Controls = UNBOUNDED
    cause: ShortText = ""


class Describe(msgspec.Struct, frozen=True, kw_only=True, tag="describe"):
    """Asks an engine what it is and what it runs now."""


class EngineLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine was started with; controls outside are refused before they touch it."""

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_blocks: int
    block_size: int
    max_model_len: int


class DirectiveReply(msgspec.Struct, frozen=True, kw_only=True, tag="reply"):
    """ACK (``accepted``) or NACK (``reason``), with what is active afterwards."""

    engine_id: str
    boot_id: str
    accepted: bool
    active_version: int
    topology: str
    bypass: bool
    step: int
    reason: str = ""


class EngineDescription(msgspec.Struct, frozen=True, kw_only=True, tag="description"):
    """Answer to :class:`Describe`.

    ``kind`` is ``vllm``, ``simulator`` or ``pump`` (the gateway's); ``boot_id`` changes
    with every start of the engine.
    """

    engine_id: str
    boot_id: str
    kind: str
    kind_version: str
    model: str
    rank: int
    limits: EngineLimits
    topologies: list[str]
    active: Directive | None
    lease_expired: bool
    doubt: str = ""


ControlRequest = Directive | Describe
ControlReply = DirectiveReply | EngineDescription
