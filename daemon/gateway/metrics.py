"""Prometheus metrics of the gateway: label values capped, nothing per chunk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

MAX_LABEL_VALUES: Final = 1000
OTHER: Final = "other"

TTFT_BUCKETS: Final = (
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 13, 20, 40, 80,
)  # fmt: skip
TPOT_BUCKETS: Final = (
    0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.09, 0.11, 0.13, 0.15, 0.2, 0.4, 1,
)  # fmt: skip
E2E_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)
TAGGING_BUCKETS: Final = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05)


class LabelCap:
    """The first ``limit`` distinct values keep their name, later ones become ``other``."""

    def __init__(self, limit: int = MAX_LABEL_VALUES) -> None:
        self._limit = limit
        self._values: set[str] = set()

    def __call__(self, value: str) -> str:
        if value in self._values:
            return value
        if len(self._values) >= self._limit:
            return OTHER
        self._values.add(value)
        return value


class Served(NamedTuple):
    """The metrics of one model on one engine for one tenant, looked up once."""

    duration: Histogram
    ttft: Histogram
    tpot: Histogram
    predicted_ttft: Histogram
    predicted_tpot: Histogram
    prompt_tokens: Counter
    output_tokens: Counter


class GatewayMetrics:
    """All metrics of one worker.

    With several workers, ``multiprocess_dir`` is where they all keep their values
    (prometheus_client's multi-process mode), and a scrape of any of them sees all.
    """

    def __init__(self, multiprocess_dir: Path | None = None) -> None:
        self._multiprocess_dir = multiprocess_dir
        self.registry = CollectorRegistry()
        self.tenant = LabelCap()
        self.model = LabelCap()
        self._synced: defaultdict[Counter, int] = defaultdict(int)
        self._served: dict[tuple[str, str, str], Served] = {}
        self._make_counters()
        self._make_histograms()
        self._make_gauges()

    def served(self, tenant: str, model: str, engine: str) -> Served:
        """``tenant`` and ``model`` capped already; the combinations are therefore bounded."""
        key = (tenant, model, engine)
        found = self._served.get(key)
        if found is None:
            found = self._served[key] = Served(
                duration=self.duration.labels(model, engine),
                ttft=self.ttft.labels(model, engine),
                tpot=self.tpot.labels(model, engine),
                predicted_ttft=self.predicted_ttft.labels(model, engine),
                predicted_tpot=self.predicted_tpot.labels(model, engine),
                prompt_tokens=self.prompt_tokens.labels(tenant, model),
                output_tokens=self.output_tokens.labels(tenant, model),
            )
        return found

    def sync(self, counts: Mapping[Counter, int]) -> None:
        """Raise each counter to the running total that its owner keeps."""
        for counter, total in counts.items():
            counter.inc(total - self._synced[counter])
            self._synced[counter] = total

    def scrape(self) -> bytes:
        """The text exposition, merged over all workers where there are several."""
        if self._multiprocess_dir is None:
            return generate_latest(self.registry)
        merged = CollectorRegistry()
        MultiProcessCollector(merged, str(self._multiprocess_dir))  # type: ignore[no-untyped-call]
        return generate_latest(merged)

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        """A counter in this registry; the prefix ``hmas_`` is put before its name."""
        return Counter(f"hmas_{name}", text, labels, registry=self.registry)

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(
            f"hmas_{name}_seconds", text, labels, registry=self.registry, buckets=buckets
        )

    def gauge(self, name: str, text: str, mode: str, *labels: str) -> Gauge:
        """A gauge likewise; ``mode`` says how workers become one value."""
        return Gauge(
            f"hmas_{name}",
            text,
            labels,
            registry=self.registry,
            multiprocess_mode=mode,  # type: ignore[arg-type]
        )

    def _make_counters(self) -> None:
        self.requests = self.counter(
            "gateway_requests", "Requests answered, by status.", "route", "tenant", "model", "code"
        )
        self.outcomes = self.counter(
            "requests", "Requests that engines ended, by outcome.", "tenant", "model", "outcome"
        )
        self.shed = self.counter("gateway_shed", "Requests turned away.", "reason")
        self.retries = self.counter(
            "gateway_retries", "Attempts that another one followed.", "engine", "reason"
        )
        self.prompt_tokens = self.counter("prompt_tokens", "Prompt tokens.", "tenant", "model")
        self.output_tokens = self.counter("output_tokens", "Output tokens.", "tenant", "model")
        self.sources = self.counter(
            "perception_requests", "Requests by who named their task type.", "source"
        )
        self.overruns = self.counter("perception_overruns", "Requests over perception's budget.")
        self.classifier_errors = self.counter(
            "perception_classifier_errors", "Failures of the learned classifier."
        )
        self.classifier_skipped = self.counter(
            "perception_classifier_skipped", "Requests that a slow learned stage was not asked of."
        )
        self.events_dropped = self.counter("gateway_events_dropped", "Events that were lost.")
        self.cost_answers = self.counter(
            "cost_predictions", "Requests by who predicted their latencies.", "engine", "source"
        )
        self.pump_faults = self.counter(
            "gateway_pump_faults", "Faults after which a pump let everything go.", "engine"
        )
        self.internal_errors = self.counter("gateway_internal_errors", "Failures of our own.")

    def _make_histograms(self) -> None:
        labels = ("model", "engine")
        self.ttft = self._histogram("request_ttft", "Time to first token.", TTFT_BUCKETS, *labels)
        self.tpot = self._histogram(
            "request_tpot", "Time per output token after the first.", TPOT_BUCKETS, *labels
        )
        self.predicted_ttft = self._histogram(
            "request_predicted_ttft", "Predicted time to first token.", TTFT_BUCKETS, *labels
        )
        self.predicted_tpot = self._histogram(
            "request_predicted_tpot", "Predicted time per output token.", TPOT_BUCKETS, *labels
        )
        self.duration = self._histogram(
            "request_duration", "From arrival to the last byte.", E2E_BUCKETS, *labels
        )
        self.tagging = self._histogram("gateway_tagging", "Perception's time.", TAGGING_BUCKETS)

    def _make_gauges(self) -> None:
        self.in_flight = self.gauge(
            "gateway_in_flight", "Requests that an engine holds.", "livesum", "engine"
        )
        self.pump_waiting = self.gauge(
            "gateway_pump_waiting", "Requests that a pump holds back.", "livesum", "engine"
        )
        self.cost_chosen = self.gauge(
            "cost_source_chosen",
            "Workers in which this source predicts the engine's latencies.",
            "livesum",
            "engine",
            "source",
        )
        self.cost_error = self.gauge(
            "cost_source_error",
            "Mean |ln(predicted / measured)| of the source's latencies; the worst worker's.",
            "livemax",
            "engine",
            "source",
        )
        self.engine_up = self.gauge(
            "gateway_engine_up", "1 while the engine answers.", "livemin", "engine"
        )
