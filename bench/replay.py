"""``hmas replay``: a workload through a simulated engine in virtual time. Same seed, same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hmas.bench.control import STOCK, ControlKind, ControlSpec
from hmas.bench.control_loop import ControlLoop
from hmas.bench.metrics import RequestResult, from_event, summarize, unfinished, windows
from hmas.bench.prompts import TRACE_BLOCK_TOKENS
from hmas.bench.report import ControlCounts, ReplayReport, Switch
from hmas.bench.told import RequestTeller, StatisticsTeller
from hmas.bench.workload import Workload, WorkloadOptions, build_workload
from hmas.controllers.config import ControlConfig
from hmas.engine.clock import FakeClock
from hmas.engine.core import ExecutionCore
from hmas.engine.directive import Controls, Directive
from hmas.engine.events import Event, RequestFinished
from hmas.engine.features import RequestFeatures
from hmas.engine.simulator.batching import SimulatedEngine, identity_of
from hmas.engine.simulator.profile import Profile, load_profile
from hmas.engine.simulator.virtual import RunResult, Tick, VirtualRun

ENGINE_ID = "engine0"
BOOT_ID = "virtual"
STATIC_LEASE_S = 86_400.0
PROGRESS_EVERY_S = 1.0

OnProgress = Callable[["ReplayProgress"], None]


@dataclass(frozen=True, slots=True)
class ReplayConfig:
    """One replay: what, on which engine, under which control.

    ``series`` adds figures per window of that many seconds to the report. ``withheld`` names
    topologies that the control loop may not use. With ``tagged`` false the scheduler sees no
    annotation at all, only statistics of what finished before.
    """

    workload: WorkloadOptions = field(default_factory=WorkloadOptions)
    profile: str | Profile = "a100-qwen3-8b"
    control: ControlSpec = STOCK
    control_config: ControlConfig = field(default_factory=ControlConfig)
    series_s: float | None = None
    withheld: frozenset[str] = frozenset()
    tagged: bool = True


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """How far a replay is, in virtual time."""

    now_s: float
    span_s: float
    done: int
    requests: int


@dataclass(slots=True)
class _Results:
    """Collects what the engine reports about requests."""

    by_id: dict[str, RequestResult] = field(default_factory=dict)
    last_s: float = 0.0

    def take(self, event: RequestFinished) -> None:
        self.by_id[event.features.request_id] = from_event(event)
        self.last_s = event.at_s


def run_replay(config: ReplayConfig, on_progress: OnProgress | None = None) -> ReplayReport:
    """Build the workload, replay it, summarise.

    Raises:
        ValueError: a trace, rate, duration or profile that cannot be used (with its name).
    """
    return replay(build_workload(config.workload), config, on_progress)


def replay(
    workload: Workload, config: ReplayConfig, on_progress: OnProgress | None = None
) -> ReplayReport:
    """Replay one workload; several controls may be compared on the same one."""
    return _Replay(workload, config, on_progress).run()


class _Replay:
    """Wires one engine, its control and the collection of results together."""

    def __init__(
        self, workload: Workload, config: ReplayConfig, on_progress: OnProgress | None
    ) -> None:
        self._workload = workload
        self._config = config
        self._on_progress = on_progress
        named = config.profile
        self._profile = load_profile(named) if isinstance(named, str) else named
        self._clock = FakeClock()
        self._results = _Results()
        teller = RequestTeller if config.tagged else StatisticsTeller
        self._teller = teller(workload.requests)
        self._engine = self._make_engine(self._profile)
        self._loop = self._make_loop()

    def run(self) -> ReplayReport:
        run = VirtualRun(
            self._teller,
            self._engine,
            clock=self._clock,
            ticks=self._ticks(),
        )
        ended = run.run()
        if self._on_progress is not None:
            self._on_progress(self._progress(ended.ended_s))
        return self._report(ended)

    def _make_engine(self, profile: Profile) -> SimulatedEngine:
        hashed = any(request.block_hashes for request in self._workload.requests)
        return SimulatedEngine(
            profile,
            self._clock,
            self._observe,
            identity=identity_of(profile, ENGINE_ID, BOOT_ID),
            stock=self._config.control.kind is ControlKind.STOCK,
            prefix_unit_tokens=TRACE_BLOCK_TOKENS if hashed else None,
        )

    def _make_loop(self) -> ControlLoop | None:
        core, control = self._engine.core, self._config.control
        if core is None:
            return None
        if control.kind is ControlKind.HMAS:
            return ControlLoop(core, self._config.control_config, self._config.withheld)
        fix_controls(core, control)
        return None

    def _ticks(self) -> list[Tick]:
        ticks = []
        if self._loop is not None:
            ticks.append(Tick(self._config.control_config.cycle_s, self._loop.tick))
        if self._on_progress is not None:
            report = self._on_progress
            ticks.append(Tick(PROGRESS_EVERY_S, lambda now_s: report(self._progress(now_s))))
        return ticks

    def _observe(self, event: Event) -> None:
        if isinstance(event, RequestFinished):
            self._results.take(event)
            self._teller.observe(event)
        if self._loop is not None:
            self._loop.observe(event)

    def _progress(self, now_s: float) -> ReplayProgress:
        total = len(self._workload.requests)
        return ReplayProgress(now_s, self._workload.span_s, len(self._results.by_id), total)

    def _report(self, ended: RunResult) -> ReplayReport:
        workload, config = self._workload, self._config
        duration_s = max(workload.span_s, self._results.last_s)
        results = tuple(self._result(request.features) for request in workload.requests)
        series_s = config.series_s
        return ReplayReport(
            summary=summarize(results, duration_s),
            lost=ended.submitted - len(self._results.by_id) - ended.unfinished,
            refused=ended.refused,
            counts=self._counts(),
            control=config.control,
            profile=self._profile.name,
            trace=workload.source,
            lengths=workload.lengths,
            length_error=workload.length_error,
            rps=workload.rps,
            seed=config.workload.seed,
            results=results,
            switches=self._switches(),
            series=tuple(windows(results, series_s, duration_s)) if series_s else (),
        )

    def _result(self, features: RequestFeatures) -> RequestResult:
        """Judged by the request's own targets, whatever the scheduler was told of them."""
        result = self._results.by_id.get(features.request_id)
        if result is None:
            return unfinished(features)
        return replace(result, slo_ttft_ms=features.slo_ttft_ms, slo_tpot_ms=features.slo_tpot_ms)

    def _counts(self) -> ControlCounts:
        return ControlCounts() if self._loop is None else self._loop.counts()

    def _switches(self) -> tuple[Switch, ...]:
        return () if self._loop is None else self._loop.switches


def fix_controls(core: ExecutionCore, control: ControlSpec) -> None:
    """One directive for the whole run.

    Raises:
        ValueError: the engine refuses it, in its own words.
    """
    directive = Directive(
        engine_id=core.identity.engine_id,
        version=1,
        issued_at_s=0.0,
        ttl_s=STATIC_LEASE_S,
        topology=control.topology,
        controls=Controls(token_budget=control.token_budget),
        cause="static",
    )
    reply = core.apply(directive, 0.0)
    if not reply.accepted:
        raise ValueError(f"control {control}: {reply.reason}")


if __name__ == "__main__":
    from hmas.bench.replay_cli import main

    raise SystemExit(main())
