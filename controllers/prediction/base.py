"""What a predictor is asked and what it answers."""

from __future__ import annotations

from typing import Protocol

import msgspec

from hmas.controllers.perception.incoming import EMPTY_PROMPT, Prompt
from hmas.engine.events import RequestFinished
from hmas.engine.features import TaskType


class Question(msgspec.Struct, frozen=True):
    """One request to predict, lengths in tokens.

    ``hinted_output_tokens`` is the client's expectation, ``max_output_tokens`` its cap;
    ``session`` names the conversation or job that the request belongs to, if it said so.
    ``request_id`` ties the question to the :class:`RequestFinished` that answers it; without
    it a predictor learns from what the event itself says.
    """

    tenant: str
    task_type: TaskType
    prompt_tokens: int
    hinted_output_tokens: int | None = None
    max_output_tokens: int | None = None
    model: str = ""
    session: str | None = None
    temperature: float | None = None
    prompt: Prompt = EMPTY_PROMPT
    request_id: str = ""


class Prediction(msgspec.Struct, frozen=True):
    """l_pred in tokens, t^_ttft and t^_tpot in ms (paper 3.2); a latency of 0 is not known.

    Attributes:
        upper_tokens: the length that nine of ten such requests do not exceed; None: not known.
        quantile_tokens: the same as the model alone sees it, before truths have calibrated it.
        length_source: who said the length, in one or two words, for people.
        latency_source: who said the latencies.
    """

    output_tokens: int
    ttft_ms: float = 0.0
    tpot_ms: float = 0.0
    upper_tokens: int | None = None
    quantile_tokens: int | None = None
    length_source: str = "history"
    latency_source: str = "history"


class Predictor(Protocol):
    """Prediction agent: answers in microseconds, learns from what finished."""

    def predict(self, question: Question) -> Prediction: ...

    def observe(self, finished: RequestFinished) -> None: ...
