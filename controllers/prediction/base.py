"""What a predictor is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hmas.engine.events import RequestFinished
from hmas.engine.features import TaskType


@dataclass(frozen=True, slots=True)
class Question:
    """One request to predict, lengths in tokens.

    ``hinted_output_tokens`` is the client's expectation, ``max_output_tokens`` its cap.
    """

    tenant: str
    task_type: TaskType
    prompt_tokens: int
    hinted_output_tokens: int | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """l_pred in tokens, t^_ttft and t^_tpot in ms (paper 3.2); a latency of 0 is not known."""

    output_tokens: int
    ttft_ms: float = 0.0
    tpot_ms: float = 0.0


class Predictor(Protocol):
    """Prediction agent: answers in microseconds, learns from what finished."""

    def predict(self, question: Question) -> Prediction: ...

    def observe(self, finished: RequestFinished) -> None: ...
