"""Prometheus metrics of the daemon, read from its state at every scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hmas.controllers.views import VShort
from hmas.daemon.control.engines import Fleet, ManagedEngine
from hmas.daemon.control.executor import BYPASSING
from hmas.daemon.control.runner import LoopStats
from hmas.daemon.links import EventReceiver
from hmas.storage.writer import WriterStats

_VIEW_GAUGES: tuple[tuple[str, str, Callable[[VShort], float | None]], ...] = (
    ("hmas_queue_size", "Requests waiting in the engine.", lambda v: v.waiting),
    ("hmas_running_requests", "Requests running in the engine.", lambda v: v.running),
    ("hmas_kv_used_ratio", "Share of the KV cache in use.", lambda v: v.kv_used),
    ("hmas_busy_ratio", "Share of the time spent in steps.", lambda v: v.busy_fraction),
    ("hmas_violation_ratio", "Share of recent requests off their SLO.", lambda v: v.violation_rate),
    ("hmas_ttft_p95_seconds", "Recent TTFT, 95th percentile.", lambda v: _s(v.ttft_p95_ms)),
    ("hmas_tpot_p95_seconds", "Recent TPOT, 95th percentile.", lambda v: _s(v.tpot_p95_ms)),
    ("hmas_coverage_ratio", "Coverage of the conformal length bound.", lambda v: v.coverage),
)


def _s(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000.0


class DaemonCollector(Collector):
    """Everything by engine id; nothing is counted twice, because nothing is counted here."""

    def __init__(
        self,
        fleet: Fleet,
        gateways: EventReceiver,
        *,
        storage: Callable[[], WriterStats],
        loops: Callable[[], Iterable[LoopStats]],
        refusals: Mapping[str, int],
        reloads: Mapping[str, int],
    ) -> None:
        self._fleet = fleet
        self._gateways = gateways
        self._storage = storage
        self._loops = loops
        self._refusals = refusals
        self._reloads = reloads

    def collect(self) -> Iterator[Metric]:
        yield from self._of_engines()
        yield from self._of_views()
        yield from self._of_links()
        yield from self._of_loops()
        yield from self._of_storage()
        refused = CounterMetricFamily(
            "hmas_meta_refusals", "Answers of meta-controllers not used.", labels=["kind"]
        )
        for kind, count in self._refusals.items():
            refused.add_metric([kind], count)
        yield refused
        reloads = CounterMetricFamily(
            "hmas_config_reload", "Reloads of the settings.", labels=["result"]
        )
        for result, count in self._reloads.items():
            reloads.add_metric([result], count)
        yield reloads

    def _of_engines(self) -> Iterator[Metric]:
        labels = ["engine"]
        up = GaugeMetricFamily("hmas_engine_up", "Whether the engine answers.", labels=labels)
        version = GaugeMetricFamily(
            "hmas_directive_version", "Version the engine runs.", labels=labels
        )
        bypass = GaugeMetricFamily("hmas_bypass", "Whether bypass is in force.", labels=labels)
        n_run = GaugeMetricFamily("hmas_n_run", "N_run in force, if bounded.", labels=labels)
        budget = GaugeMetricFamily(
            "hmas_token_budget_tokens", "B_token in force, if bounded.", labels=labels
        )
        topology = GaugeMetricFamily(
            "hmas_topology_info", "Active topology.", labels=["engine", "topology"]
        )
        for engine in self._fleet:
            name = [engine.engine_id]
            up.add_metric(name, engine.reachable)
            if engine.active_version is not None:
                version.add_metric(name, engine.active_version)
            if engine.last_cycle is not None:
                bypass.add_metric(name, engine.last_cycle.owner in BYPASSING)
                topology.add_metric([*name, engine.last_cycle.topology], 1)
            self._add_controls(engine, n_run, budget)
        yield from (up, version, bypass, n_run, budget, topology)

    @staticmethod
    def _add_controls(
        engine: ManagedEngine, n_run: GaugeMetricFamily, budget: GaugeMetricFamily
    ) -> None:
        if engine.delivery is None:
            return
        controls = engine.delivery.directive.controls
        if controls.n_run is not None:
            n_run.add_metric([engine.engine_id], controls.n_run)
        if controls.token_budget is not None:
            budget.add_metric([engine.engine_id], controls.token_budget)

    def _of_views(self) -> Iterator[Metric]:
        for name, meaning, read in _VIEW_GAUGES:
            family = GaugeMetricFamily(name, meaning, labels=["engine", "model"])
            for engine in self._fleet:
                value = read(engine.last_cycle.v_short) if engine.last_cycle else None
                if value is not None:
                    model = engine.description.model if engine.description else ""
                    family.add_metric([engine.engine_id, model], value)
            yield family

    def _of_links(self) -> Iterator[Metric]:
        labels = ["source", "kind"]
        gaps = CounterMetricFamily(
            "hmas_event_batches_lost", "Event batches that never arrived.", labels=labels
        )
        dropped = CounterMetricFamily(
            "hmas_events_dropped", "Events dropped at their source.", labels=labels
        )
        for engine in self._fleet:
            gaps.add_metric([engine.engine_id, "engine"], engine.missed_batches)
            dropped.add_metric([engine.engine_id, "engine"], engine.dropped_events)
        for source, watch in self._gateways.watches.items():
            gaps.add_metric([source, "gateway"], watch.missed_batches)
            dropped.add_metric([source, "gateway"], watch.dropped_events)
        yield from (gaps, dropped)

    def _of_loops(self) -> Iterator[Metric]:
        lag = GaugeMetricFamily("hmas_loop_lag_seconds", "Lateness of a loop.", labels=["loop"])
        took = GaugeMetricFamily("hmas_loop_seconds", "Duration of its last run.", labels=["loop"])
        runs = CounterMetricFamily("hmas_loop_runs", "Runs of a loop.", labels=["loop"])
        failed = CounterMetricFamily("hmas_loop_failures", "Failed runs.", labels=["loop"])
        for stats in self._loops():
            name = [stats.name]
            lag.add_metric(name, stats.lag_s)
            took.add_metric(name, stats.took_s)
            runs.add_metric(name, stats.runs)
            failed.add_metric(name, stats.failures)
        yield from (lag, took, runs, failed)

    def _of_storage(self) -> Iterator[Metric]:
        stats = self._storage()
        yield GaugeMetricFamily(
            "hmas_storage_pending_records", "Records that wait to be written.", value=stats.pending
        )
        yield CounterMetricFamily(
            "hmas_storage_written_records", "Records written.", value=stats.written
        )
        lost = CounterMetricFamily(
            "hmas_storage_lost_records", "Records that were lost.", labels=["kind"]
        )
        for kind, count in stats.lost.items():
            lost.add_metric([kind], count)
        yield lost
