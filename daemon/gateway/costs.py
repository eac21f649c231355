"""What requests will cost on each engine of this gateway: put together, counted, shown."""

from __future__ import annotations

import logging
from collections.abc import Callable

from hmas.controllers.prediction.analytic import AnalyticPredictor
from hmas.controllers.prediction.base import Predictor
from hmas.controllers.prediction.choice import CostChoice, EngineChoice
from hmas.controllers.prediction.cost import AnalyticCosts, CostPredictor, TrainedCosts
from hmas.controllers.prediction.cost_history import HistoryCosts
from hmas.controllers.prediction.cost_model import CostModel
from hmas.controllers.prediction.costed import CostedPredictor, EngineCosts, FleetCosts
from hmas.controllers.prediction.shipped import OFF, cost_model
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.engines import Engine, EnginePool
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.engine.clock import Clock
from hmas.engine.directive import StepModel
from hmas.engine.events import RequestFinished

OnlineModel = Callable[[str], StepModel | None]
"""The step-time model that the daemon fitted to an engine, by its id."""

_log = logging.getLogger("hmas.gateway.costs")


class GatewayCosts:
    """Latencies by the cost model, the step-time model or history, as the measured error says.

    Without ``hardware`` of any engine, or with ``cost_model: off``, nothing is chosen: a step
    model in the settings speaks for all engines, else the history of the lengths' predictor.
    """

    def __init__(
        self, settings: GatewaySettings, pool: EnginePool, online: OnlineModel, clock: Clock
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._said: dict[str, str] = {}
        self._fleet: FleetCosts | None = None
        self._prior = next((e.step_model for e in settings.engines if e.step_model), None)
        if settings.cost_model != OFF and any(engine.hardware for engine in settings.engines):
            model = cost_model(settings.cost_model)
            self._fleet = FleetCosts(
                {
                    engine.id: _engine_costs(engine, model, online, settings.workers)
                    for engine in pool.engines
                }
            )

    def predictor(self, lengths: Predictor) -> Predictor:
        """Lengths from ``lengths``, latencies from here."""
        if self._fleet is not None:
            return CostedPredictor(lengths, self._engine_for)
        if self._prior is not None:
            return AnalyticPredictor(self._prior.step_model(), lengths)
        return lengths

    def choices(self) -> list[CostChoice]:
        """Who predicts for each engine, and how wrong all of them were."""
        if self._fleet is None:
            return []
        return [engine.choice.choice() for engine in self._fleet.engines.values()]

    def first_token(self, call: Call) -> None:
        """An answer begins."""
        if self._fleet is not None and call.engine is not None and call.features is not None:
            self._fleet.first_token(call.engine.id, call.request_id, call.features.prompt_tokens)

    def measured(self, call: Call, finished: RequestFinished) -> None:
        """What an answer took; only streamed ones show when their first token came."""
        if self._fleet is not None and call.engine is not None and call.streamed:
            self._fleet.measured(call.engine.id, finished)

    def ended(self, request_id: str) -> None:
        """The request is over, however it ended."""
        if self._fleet is not None:
            self._fleet.ended(request_id)

    def sync(self, metrics: GatewayMetrics) -> None:
        """Errors and choices become metrics; a new choice is logged."""
        if self._fleet is None:
            return
        for engine_id, engine in self._fleet.engines.items():
            _show(metrics, engine.choice)
            choice = engine.choice.choice()
            if self._said.get(engine_id, choice.chosen) != choice.chosen:
                _log.info("costs of engine %s are now from %s", engine_id, choice.sentence)
            self._said[engine_id] = choice.chosen

    def _engine_for(self, model: str) -> EngineCosts | None:
        assert self._fleet is not None
        engine = self._pool.foreseen(model or None, self._clock.now_s())
        return None if engine is None else self._fleet.engines[engine.id]


def _engine_costs(
    engine: Engine, model: CostModel | None, online: OnlineModel, workers: int
) -> EngineCosts:
    candidates: list[CostPredictor] = []
    hardware, prior = engine.target.hardware, engine.target.step_model
    if model is not None and hardware is not None:
        candidates.append(TrainedCosts(model, hardware.shape()))
    known = None if prior is None else prior.step_model()
    candidates.append(AnalyticCosts(lambda: online(engine.id) or known))
    candidates.append(HistoryCosts())
    choice = EngineChoice(engine.id, candidates)
    if workers == 1:
        return EngineCosts(choice)
    return EngineCosts(choice, lambda: max(0, engine.in_flight - engine.own_in_flight))


def _show(metrics: GatewayMetrics, choice: EngineChoice) -> None:
    shown = choice.choice()
    for one in shown.candidates:
        labels = (shown.engine_id, one.name)
        metrics.cost_chosen.labels(*labels).set(one.name == shown.chosen)
        if one.error is not None:
            metrics.cost_error.labels(*labels).set(one.error)
    metrics.sync(
        {
            metrics.cost_answers.labels(shown.engine_id, name): count
            for name, count in choice.answers.items()
        }
    )
