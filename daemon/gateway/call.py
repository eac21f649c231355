"""One request on its way through the gateway, and what was measured of it."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from hmas.controllers.prediction.base import Prediction, Question
from hmas.daemon.gateway.engines import Engine
from hmas.daemon.gateway.usage import Usage, find_usage
from hmas.engine.events import Outcome, ShedReason
from hmas.engine.features import RequestFeatures

EVENTS_WITHOUT_TOKENS: Final = 2
"""A chat stream opens with the role and closes with ``[DONE]``."""


class Call:
    """Mutable record of one request; times are ``perf_counter`` seconds.

    ``status`` is what the client saw, 0 while nothing was sent; ``outcome`` stays None for
    requests that never reached an engine; ``tail`` is the end of the answer, enough for its
    ``usage``; ``lesson`` is there when models may learn from this request.
    """

    __slots__ = (
        "_events",
        "arrival_s",
        "arrived_at",
        "code",
        "dispatched_at",
        "engine",
        "features",
        "first_at",
        "last_at",
        "lesson",
        "max_output_tokens",
        "method",
        "model",
        "outcome",
        "path",
        "prediction",
        "prompt_bytes",
        "request_id",
        "route",
        "shed",
        "status",
        "streamed",
        "tagging_s",
        "tail",
        "tenant",
    )

    def __init__(self, request_id: str, method: str, path: str, arrival_s: float) -> None:
        self.request_id = request_id
        self.method = method
        self.path = path
        self.route = ""
        self.arrival_s = arrival_s
        self.arrived_at = perf_counter()
        self.tenant = ""
        self.model = ""
        self.features: RequestFeatures | None = None
        self.prediction: Prediction | None = None
        self.lesson: Question | None = None
        self.max_output_tokens: int | None = None
        self.prompt_bytes = 0
        self.tagging_s = 0.0
        self.engine: Engine | None = None
        self.dispatched_at = 0.0
        self.first_at = 0.0
        self.last_at = 0.0
        self.status = 0
        self.code = ""
        self.streamed = False
        self.shed: ShedReason | None = None
        self.outcome: Outcome | None = None
        self.tail = b""
        self._events = 0

    @property
    def queue_s(self) -> float:
        """From arrival until the engine that answered was asked."""
        return max(0.0, self.dispatched_at - self.arrived_at)

    @property
    def ttft_s(self) -> float:
        return self.first_at - self.arrived_at if self.first_at else 0.0

    @property
    def total_s(self) -> float:
        return perf_counter() - self.arrived_at

    def answered(self) -> None:
        """The engine's first byte is here."""
        self.first_at = self.last_at = perf_counter()

    def streamed_out(self, events: int, tail: bytes) -> None:
        """The stream went by: so many events ended in it, ``tail`` is its end."""
        self.tail = tail
        self._events = events

    def usage(self) -> Usage | None:
        """Counted by the engine; None when it did not say."""
        return find_usage(self.tail)

    def events(self) -> int:
        """Server-sent events that look like tokens: the estimate without ``usage``."""
        return max(0, self._events - EVENTS_WITHOUT_TOKENS)

    def tpot_s(self, output_tokens: int) -> float:
        """Seconds per output token after the first, of a streamed answer; 0 below two tokens."""
        if not self.streamed or output_tokens < 2:
            return 0.0
        return (self.last_at - self.first_at) / (output_tokens - 1)
