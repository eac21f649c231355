"""What perception is given of a request, already bounded in size.

Structs, not dataclasses: one of each is made per request, on the data path.
"""

from __future__ import annotations

from functools import cached_property

import msgspec

from hmas.controllers.perception.rules import bounded, task_scores
from hmas.engine.features import TaskType


class Prompt(msgspec.Struct, frozen=True, dict=True):
    """A bounded reading of a prompt; what several stages look at is computed once.

    Attributes:
        text: beginning and end of the last user turn (what rules look at).
        system: beginning of the system prompt.
        size_bytes: UTF-8 length of the whole prompt, all turns, before any bound.
        token_ids: exact token count where the client sent token ids instead of text.
        turns: messages of the conversation, 1 for a bare prompt.
        tools: tool schemas offered.
        json_answer: the client asked for a JSON answer (``response_format``).
    """

    text: str = ""
    system: str = ""
    size_bytes: int = 0
    token_ids: int | None = None
    turns: int = 1
    tools: int = 0
    json_answer: bool = False

    @cached_property
    def bounded(self) -> str:
        """Beginning and end of the text."""
        return bounded(self.text)

    @cached_property
    def folded(self) -> str:
        """The bounded text in lower case."""
        return self.bounded.lower()

    @cached_property
    def points(self) -> list[int]:
        """What the rules' cues give each task, in the order of ``CUES``."""
        return task_scores(self)


EMPTY_PROMPT = Prompt()


class Claims(msgspec.Struct, frozen=True):
    """What the client says of its request, in our polarity; None: not said."""

    task_type: TaskType | None = None
    importance: float | None = None
    priority: int | None = None
    slo_ttft_ms: float | None = None
    slo_tpot_ms: float | None = None
    output_tokens: int | None = None
    tenant: str | None = None
    job_id: str | None = None
    stage: int | None = None
    role: str | None = None


NO_CLAIMS = Claims()


class TenantDefaults(msgspec.Struct, frozen=True):
    """What the API key decides: identity, bounds of the claims, and what holds unsaid."""

    tenant: str = "default"
    weight: float = 1.0
    priority: int = 0
    importance: float = 0.75
    trusted: bool = False
    task_type: TaskType | None = None
    slo_ttft_ms: float | None = None
    slo_tpot_ms: float | None = None
    min_slo_ttft_ms: float | None = None
    min_slo_tpot_ms: float | None = None


class Incoming(msgspec.Struct, frozen=True):
    """One request as perception sees it; ``max_output_tokens`` is the client's own cap.

    ``temperature`` is None where the client left it to the engine.
    """

    request_id: str
    arrival_s: float
    defaults: TenantDefaults
    claims: Claims = NO_CLAIMS
    prompt: Prompt = EMPTY_PROMPT
    max_output_tokens: int | None = None
    model: str = ""
    temperature: float | None = None
