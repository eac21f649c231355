"""Predicted beside actual: live accuracy, the models that answer, and their duel, as metrics."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from prometheus_client import Counter, Gauge

from hmas.controllers.perception.accuracy import TaskScores
from hmas.controllers.prediction.accuracy import LiveAccuracy
from hmas.controllers.prediction.base import Prediction
from hmas.controllers.prediction.duel import Drift, DuelState
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.length_duel import LengthDuel, sentence
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.engine.events import RequestFinished

CHAMPION: Final = "champion"
SHADOW: Final = "shadow"
NEWEST: Final = "livemostrecent"
"""With several workers a scrape shows the window of the one that wrote last: each sees a share
of the same traffic."""
DRIFTS: Final = {Drift.BETTER: -1, Drift.STABLE: 0, Drift.WORSE: 1}

_log = logging.getLogger("hmas.gateway.learning")


class _Shown(NamedTuple):
    """A gauge over the newest requests."""

    text: str
    labels: tuple[str, ...] = ()
    mode: str = NEWEST


GAUGES: Final[Mapping[str, _Shown]] = {
    "prediction_window_requests": _Shown("Requests in the gauges of a quantity.", ("quantity",)),
    "prediction_error_ratio": _Shown("Median of |predicted - actual| / actual.", ("quantity",)),
    "actual_to_predicted_ratio": _Shown("Sum of actual over sum of predicted.", ("quantity",)),
    "length_mae_tokens": _Shown("Mean absolute error of output lengths."),
    "length_bias_tokens": _Shown("Mean of predicted minus actual output length."),
    "length_coverage_ratio": _Shown("Share of answers within their upper bound."),
    "length_loss": _Shown("Mean |log(predicted / actual)| of a length model alone.", ("role",)),
    "length_duel_window_requests": _Shown("Requests in the losses of length models."),
    "length_drift": _Shown("1: the loss has risen of late, -1: fallen, 0: stable."),
    "length_model_info": _Shown(
        "Workers in which a length model has a role.", ("role", "version", "data_hash"), "livesum"
    ),
    "length_challenger_info": _Shown(
        "Workers by the challenger's standing.", ("standing",), "livesum"
    ),
    "task_accuracy_ratio": _Shown("Guesses of the task that agree with what clients said."),
    "task_unknown_ratio": _Shown("Guesses of the task left open where clients said it."),
}
"""After ``hmas_gateway_``."""
UNITS: Final[Mapping[str, str]] = {
    "length": "output_tokens",
    "ttft": "ttft_seconds",
    "tpot": "tpot_seconds",
}
"""What is predicted, and its counters' names after ``predicted_`` and ``actual_``."""


class _Sums(NamedTuple):
    """Counters of one quantity from one source."""

    predicted: Counter
    actual: Counter
    requests: Counter


class LearningMetrics:
    """Metrics of predictions; a gauge appears when there is something to show."""

    def __init__(self, metrics: GatewayMetrics) -> None:
        self._metrics = metrics
        self._gauges: dict[str, Gauge] = {}
        self._sums: dict[tuple[str, str], _Sums] = {}
        counter = metrics.counter
        self._pairs = {
            quantity: (
                counter(f"gateway_predicted_{unit}", "What was predicted, summed.", "source"),
                counter(f"gateway_actual_{unit}", "What came out, summed.", "source"),
            )
            for quantity, unit in UNITS.items()
        }
        self._requests = counter(
            "gateway_predictions", "Predictions compared with the truth.", "quantity", "source"
        )
        self._drifts = counter("gateway_length_drifts", "Rises of the length model's loss.")
        self._promotions = counter("gateway_length_promotions", "Challengers that took over.")
        self._rollbacks = counter("gateway_length_rollbacks", "Challengers that were sent back.")
        self._scored = counter("gateway_task_scored", "Task guesses compared with claims.")

    def show(self, name: str, value: float | None, *labels: str) -> None:
        """Set one of ``GAUGES``; None: nothing is known yet."""
        if value is None:
            return
        gauge = self._gauges.get(name)
        if gauge is None:
            shown = GAUGES[name]
            gauge = self._metrics.gauge(f"gateway_{name}", shown.text, shown.mode, *shown.labels)
            self._gauges[name] = gauge
        (gauge.labels(*labels) if labels else gauge).set(value)

    def add(self, quantity: str, source: str, predicted: float, actual: float) -> None:
        """One pair, in tokens or seconds."""
        sums = self._sums.get((quantity, source))
        if sums is None:
            said, was = self._pairs[quantity]
            requests = self._requests.labels(quantity, source)
            sums = _Sums(said.labels(source), was.labels(source), requests)
            self._sums[quantity, source] = sums
        sums.predicted.inc(predicted)
        sums.actual.inc(actual)
        sums.requests.inc()

    def count(self, state: DuelState) -> None:
        self._metrics.sync(
            {
                self._drifts: state.drifts,
                self._promotions: state.promotions,
                self._rollbacks: state.rollbacks,
            }
        )

    def count_scored(self, scored: int) -> None:
        self._metrics.sync({self._scored: scored})


class LiveScores:
    """Compares each finished request with its prediction; ``accuracy`` is that of the newest."""

    def __init__(self, metrics: LearningMetrics) -> None:
        self.accuracy = LiveAccuracy()
        self._metrics = metrics

    def observe(self, call: Call, finished: RequestFinished, *, counted: bool) -> None:
        """``counted``: the engine said how many tokens it made."""
        prediction = call.prediction
        if prediction is None:
            return
        if counted and finished.output_tokens > 0:
            self.accuracy.length(prediction, finished)
            said, was = prediction.output_tokens, finished.output_tokens
            self._metrics.add("length", prediction.length_source, said, was)
        if call.streamed:
            self.accuracy.latency(prediction, finished)
            self._latency(prediction, finished)

    def _latency(self, prediction: Prediction, finished: RequestFinished) -> None:
        source = prediction.latency_source
        if prediction.ttft_ms > 0 and finished.ttft_s > 0:
            self._metrics.add("ttft", source, prediction.ttft_ms / 1000, finished.ttft_s)
        if prediction.tpot_ms > 0 and finished.tpot_s > 0:
            self._metrics.add("tpot", source, prediction.tpot_ms / 1000, finished.tpot_s)


class Learning:
    """Brings scores and the duel into the metrics, now and then; tells the log who took over."""

    def __init__(
        self, metrics: GatewayMetrics, lengths: LengthPredictor | None, tasks: TaskScores
    ) -> None:
        self._metrics = LearningMetrics(metrics)
        self._lengths = lengths
        self._tasks = tasks
        self._infos: dict[tuple[str, ...], float] = {}
        self._changes = (0, 0)
        self.scores = LiveScores(self._metrics)

    def sync(self) -> None:
        """What is counted elsewhere becomes metrics here."""
        self._show_accuracy()
        self._show_tasks()
        if self._lengths is not None:
            state = self._lengths.duel.state()
            self._show_duel(state)
            self._show_roles(self._lengths.duel, state)
            self._tell(state)

    def _show_accuracy(self) -> None:
        show, accuracy = self._metrics.show, self.scores.accuracy
        lengths = accuracy.lengths()
        if lengths is not None:
            show("prediction_window_requests", lengths.requests, "length")
            show("prediction_error_ratio", lengths.median_error, "length")
            show("length_mae_tokens", lengths.mae_tokens)
            show("length_bias_tokens", lengths.bias_tokens)
            show("length_coverage_ratio", lengths.coverage)
        for quantity, found in (("ttft", accuracy.ttft()), ("tpot", accuracy.tpot())):
            if found is not None:
                show("prediction_window_requests", found.requests, quantity)
                show("prediction_error_ratio", found.median_error, quantity)
                show("actual_to_predicted_ratio", found.ratio, quantity)

    def _show_tasks(self) -> None:
        found = self._tasks.accuracy()
        if found is not None:
            self._metrics.show("task_accuracy_ratio", found.right)
            self._metrics.show("task_unknown_ratio", found.unknown)
            self._metrics.count_scored(self._tasks.scored)

    def _show_duel(self, state: DuelState) -> None:
        metrics = self._metrics
        metrics.show("length_loss", state.champion_loss, CHAMPION)
        metrics.show("length_loss", state.other_loss, SHADOW)
        metrics.show("length_duel_window_requests", state.requests)
        metrics.show("length_drift", DRIFTS[state.drift])
        metrics.count(state)

    def _show_roles(self, duel: LengthDuel, state: DuelState) -> None:
        """Roles change: what was shown before is set to 0, as a gauge cannot be taken back."""
        infos: dict[tuple[str, ...], float] = {
            ("length_challenger_info", state.standing.value): 1.0
        }
        for role, model in ((CHAMPION, duel.model), (SHADOW, duel.other)):
            if model is not None:
                record = model.record
                infos["length_model_info", role, record.version, record.data_hash] = 1.0
        for (name, *labels), value in (dict.fromkeys(self._infos, 0.0) | infos).items():
            self._metrics.show(name, value, *labels)
        self._infos = infos

    def _tell(self, state: DuelState) -> None:
        """One line at each change of roles: an operator may want to keep it in the settings."""
        changes = (state.promotions, state.rollbacks)
        if changes != self._changes:
            self._changes = changes
            _log.warning("length models: %s", sentence(state))
