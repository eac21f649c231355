"""Lengths from one predictor, latencies from the cost predictor that an engine's errors chose."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hmas.controllers.prediction.base import Prediction, Predictor, Question
from hmas.controllers.prediction.choice import EngineChoice
from hmas.controllers.prediction.cost import Cost
from hmas.controllers.prediction.in_flight import InFlight
from hmas.engine.events import RequestFinished


def nobody() -> int:
    """No other process sends requests to the engine."""
    return 0


class EngineCosts:
    """One engine: who predicts its costs, and what it holds.

    ``others`` counts requests that it holds from other processes.
    """

    def __init__(self, choice: EngineChoice, others: Callable[[], int] = nobody) -> None:
        self.choice = choice
        self.in_flight = InFlight()
        self._others = others

    def price(self, question: Question, output_tokens: int) -> tuple[Cost | None, str]:
        """The cost of a request that is about to go there, and who said it."""
        load = self.in_flight.load(question.prompt_tokens, output_tokens, self._others())
        if question.request_id:
            self.in_flight.sent(question.request_id, question.prompt_tokens)
        return self.choice.predict(question.request_id, load)

    def left(self, request_id: str) -> None:
        """The request is not, or no longer, here."""
        self.in_flight.finished(request_id)
        self.choice.forget(request_id)


class FleetCosts:
    """The costs of all engines, by id; requests that were never priced change nothing."""

    def __init__(self, engines: dict[str, EngineCosts]) -> None:
        self.engines = engines

    def first_token(self, engine_id: str, request_id: str, prompt_tokens: int) -> None:
        """An engine's answer begins; it need not be the one that it was priced for."""
        for name, engine in self.engines.items():
            if name != engine_id:
                engine.left(request_id)
                continue
            if request_id not in engine.in_flight:
                engine.in_flight.sent(request_id, prompt_tokens)
            engine.in_flight.first_token(request_id)

    def measured(self, engine_id: str, finished: RequestFinished) -> None:
        """What a streamed request took; :meth:`ended` comes after it."""
        if engine_id in self.engines:
            self.engines[engine_id].choice.observe(finished)

    def ended(self, request_id: str) -> None:
        """However it did, and wherever it was."""
        for engine in self.engines.values():
            engine.left(request_id)


class CostedPredictor:
    """``engine_for(model)`` says where a request for that model will go.

    Where no cost predictor can tell, the latencies of ``lengths`` stand.
    """

    def __init__(self, lengths: Predictor, engine_for: Callable[[str], EngineCosts | None]) -> None:
        self._lengths = lengths
        self._engine_for = engine_for

    def observe(self, finished: RequestFinished) -> None:
        self._lengths.observe(finished)

    def predict(self, question: Question) -> Prediction:
        predicted = self._lengths.predict(question)
        engine = self._engine_for(question.model)
        if engine is None:
            return predicted
        cost, source = engine.price(question, predicted.output_tokens)
        if cost is None:
            return predicted
        return msgspec.structs.replace(
            predicted, ttft_ms=cost.ttft_ms, tpot_ms=cost.tpot_ms, latency_source=source
        )
