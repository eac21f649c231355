"""Settings of the controllers: frozen, documented defaults, validated by name.

Stdlib dataclasses so that the controllers need no pydantic; ``__pydantic_config__`` makes
unknown keys errors where a settings file embeds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final

from hmas.controllers.checks import require, require_above, require_less

_STRICT = {"extra": "forbid"}

SHORTEST_FIRST: Final[Mapping[str, float]] = MappingProxyType(
    {"by_work": 1.0, "aging_every": 100.0}
)
"""Hints of ``sjf``: by work rather than by service time, and rarely by age."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewConfig:
    """Windows of the QoS agent, in seconds."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    state_window_s: float = 2.0
    """Engine signals of V_short: queue, KV, busy, fill, steps."""
    latency_window_s: float = 10.0
    """Request signals of V_short: latencies, violations, rates."""
    long_window_s: float = 10.0
    """One V_long."""
    stale_after_s: float = 5.0
    """A busy engine that sends nothing for this long is not measured any more."""
    min_samples: int = 20
    """Fewer requests than this say nothing about a rate or a tail."""

    def __post_init__(self) -> None:
        require_above("views.state_window_s", self.state_window_s, 0)
        require_above("views.latency_window_s", self.latency_window_s, 0)
        require_above("views.long_window_s", self.long_window_s, 0)
        require_above("views.stale_after_s", self.stale_after_s, 0)
        require("views.min_samples", self.min_samples, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationConfig:
    """Conformal length bound (paper Eq. 4)."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    epsilon: float = 0.1
    """Share of requests that may outgrow their bound."""
    window: int = 300
    """Newest errors kept per length bucket."""
    min_bucket: int = 30
    """A bucket with fewer errors uses those of all buckets."""
    adaptation: float = 0.02
    """Step by which epsilon follows misses and hits; 0: fixed."""

    def __post_init__(self) -> None:
        require("calibration.epsilon", self.epsilon, 0.001, 0.5)
        require("calibration.window", self.window, 20, 100_000)
        require("calibration.adaptation", self.adaptation, 0, 0.5)
        require("calibration.min_bucket", self.min_bucket, 1, self.window)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFitConfig:
    """Online fit of the step-time model."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    memory_steps: int = 2000
    """Observations after which an old one weighs 1/e."""
    min_observations: int = 20
    """Observations before the model may be used."""
    max_error: float = 0.25
    """Mean relative error above which the model is withdrawn."""
    ridge: float = 5.0
    """Weight of the prior, in observations per coefficient."""
    refit_every_s: float = 1.0

    def __post_init__(self) -> None:
        require("step_fit.memory_steps", self.memory_steps, 10)
        require("step_fit.min_observations", self.min_observations, 5)
        require_above("step_fit.max_error", self.max_error, 0)
        require("step_fit.ridge", self.ridge, 0)
        require("step_fit.refit_every_s", self.refit_every_s, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateraConfig:
    """Two-layer regulation (paper 3.4.2, Algorithm 2). Gains are per second."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    enabled: bool = True
    """False freezes the controls at their widest, the fence included."""
    fence: bool = True
    u_low: float = 0.7
    u_high: float = 0.95
    """Band of the TPOT utilisation u_t, to begin with."""
    band_probe: float = 0.06
    """Deviation by which extremum seeking probes the band's upper edge; 0: the band is fixed."""
    band_probe_s: float = 20.0
    """Length of one probe, of which the second half counts."""
    band_gain: float = 0.5
    """Move of the edge per relative difference in goodput between the probes."""
    band_low: float = 0.75
    band_high: float = 1.1
    """Bounds of the upper edge."""
    dead_band: float = 0.03
    """Errors below this move nothing."""
    violation_band: float = 0.05
    """Violation rates up to this are left alone."""
    budget_gain: float = 0.4
    """eta_B: relative change of B_token per second and unit of error."""
    n_run_gain: float = 0.1
    """eta_N: relative change of N_run per second and unit of averaged error."""
    averaging_s: float = 5.0
    """Window W of the outer loop's error."""
    min_token_budget: int = 256
    min_n_run: int = 4
    cold_share: float = 0.25
    """Share of the engine's token budget per step while its step times are not known yet."""
    levels: int = 32
    """Steps into which each control's range is quantised."""
    recompute_band: float = 0.25
    """Share of the engine's time that may go into computing preempted contexts again."""
    kv_margin: float = 0.02
    """delta_frag: share of the KV cache that admission leaves free."""
    kv_target: float = 0.95
    """KV use below which a fence that holds requests back is relaxed."""
    tpot_guard: float = 0.9
    """Share of a TPOT target that steps may use, to begin with."""
    tpot_guard_low: float = 0.75
    tpot_guard_high: float = 1.0
    tpot_miss_rate: float = 0.003
    """Share of requests that may miss their TPOT target for the sake of faster prefill."""
    guard_step: float = 0.03
    """Step by which the guard follows misses and hits; 0: fixed."""

    def __post_init__(self) -> None:
        require_above("statera.u_low", self.u_low, 0)
        require_less("statera.u_low", self.u_low, "statera.u_high", self.u_high)
        require("statera.band_probe", self.band_probe, 0, 0.5)
        require_above("statera.band_probe_s", self.band_probe_s, 0)
        require_above("statera.band_gain", self.band_gain, 0)
        require_above("statera.band_low", self.band_low, 0)
        require("statera.band_high", self.band_high, self.band_low, 10)
        require("statera.dead_band", self.dead_band, 0, 1)
        require("statera.violation_band", self.violation_band, 0, 1)
        require_above("statera.budget_gain", self.budget_gain, 0)
        require_above("statera.n_run_gain", self.n_run_gain, 0)
        require_above("statera.averaging_s", self.averaging_s, 0)
        require("statera.min_token_budget", self.min_token_budget, 1)
        require("statera.min_n_run", self.min_n_run, 1)
        require("statera.cold_share", self.cold_share, 0.01, 1)
        require("statera.levels", self.levels, 4, 1024)
        require_above("statera.recompute_band", self.recompute_band, 0)
        require("statera.kv_margin", self.kv_margin, 0, 0.9)
        require("statera.kv_target", self.kv_target, 0.1, 1)
        require("statera.tpot_guard_low", self.tpot_guard_low, 0.1, 10)
        require("statera.tpot_guard_high", self.tpot_guard_high, self.tpot_guard_low, 10)
        low, high = self.tpot_guard_low, self.tpot_guard_high
        require("statera.tpot_guard", self.tpot_guard, low, high)
        require("statera.tpot_miss_rate", self.tpot_miss_rate, 0, 1)
        require("statera.guard_step", self.guard_step, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesConfig:
    """Thresholds of the rule-based meta-controller (paper C.2)."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    violation_band: float = 0.05
    """Violation rates up to this leave the topology alone."""
    calm_rate: float = 0.02
    """Violation rate up to which deadline order goes by the first token (safe near capacity)."""
    overload_rate: float = 0.1
    """Violation rate above which it goes by D_r, which favours short requests: there is not
    enough capacity for all, and first-token order would spend it on whoever is about to fail."""
    hol_index: float = 0.5
    high_variation: float = 0.75
    """CV of the predicted work above which misses call for the least work first."""
    fairness: float = 0.6
    """Jain index below which sharing counts as unfair."""
    unfair_windows: int = 3
    """Unfair windows in a row that make it persistent."""
    unknown_share: float = 0.5
    """Share of untagged requests above which lengths and deadlines are not trusted."""
    hysteresis: float = 0.5
    """Edge of the pattern that the active topology fights over its own threshold and over
    other patterns, so that success is no reason to leave."""
    relax_after_s: float = 600.0
    """Calm time after an overload before deadline order goes by the first token again."""

    def __post_init__(self) -> None:
        require("rules.violation_band", self.violation_band, 0, 1)
        require("rules.calm_rate", self.calm_rate, 0, 1)
        require("rules.overload_rate", self.overload_rate, self.calm_rate, 1)
        require("rules.hol_index", self.hol_index, 0, 1)
        require("rules.high_variation", self.high_variation, 0)
        require("rules.fairness", self.fairness, 0, 1)
        require("rules.unfair_windows", self.unfair_windows, 1)
        require("rules.unknown_share", self.unknown_share, 0, 1)
        require("rules.relax_after_s", self.relax_after_s, 0)
        require("rules.hysteresis", self.hysteresis, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BypassConfig:
    """When the engine falls back to plain FCFS, and for how long (paper C.2)."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    enabled: bool = True
    violation_enter: float = 0.98
    violation_exit: float = 0.8
    stuck_after_s: float = 5.0
    """Requests wait, none runs: our own controls strangle the engine."""
    confirm_s: float = 15.0
    """How long a condition (other than stuck) must hold."""
    min_stay_s: float = 30.0
    max_stay_s: float = 60.0
    """After this a bypass is tried to be left even though its condition holds."""
    back_off_s: float = 300.0
    """How long a bypass that brought no goodput is not repeated, doubled each time."""

    def __post_init__(self) -> None:
        require("bypass.violation_enter", self.violation_enter, 0, 1)
        require_less(
            "bypass.violation_exit", self.violation_exit, "violation_enter", self.violation_enter
        )
        require_above("bypass.stuck_after_s", self.stuck_after_s, 0)
        require("bypass.confirm_s", self.confirm_s, 0)
        require("bypass.min_stay_s", self.min_stay_s, 0)
        require("bypass.back_off_s", self.back_off_s, 0)
        require("bypass.max_stay_s", self.max_stay_s, self.min_stay_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackConfig:
    """Guard window after a topology switch (paper Eq. 12)."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    enabled: bool = True
    rho: float = 1.5
    min_rise: float = 0.05
    """Absolute rise of nu below which a relative one means nothing."""
    min_samples: int = 20
    window_s: float = 30.0
    confirm_s: float = 3.0
    """How long Eq. 12 must hold without a break."""
    max_window_s: float = 120.0
    """An inconclusive window is extended up to this."""
    cool_down_s: float = 60.0
    """No switch for this long after a rollback."""
    quarantine_s: float = 600.0
    """A failed topology is refused for this long, doubled for each further failure."""
    max_quarantine_s: float = 7200.0

    def __post_init__(self) -> None:
        require_above("rollback.rho", self.rho, 1)
        require("rollback.min_rise", self.min_rise, 0, 1)
        require("rollback.min_samples", self.min_samples, 1)
        require_above("rollback.window_s", self.window_s, 0)
        require("rollback.confirm_s", self.confirm_s, 0)
        require("rollback.max_window_s", self.max_window_s, self.window_s)
        require("rollback.cool_down_s", self.cool_down_s, 0)
        require("rollback.quarantine_s", self.quarantine_s, 0)
        require("rollback.max_quarantine_s", self.max_quarantine_s, self.quarantine_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlConfig:
    """All settings of one engine's controllers."""

    __pydantic_config__: ClassVar[dict[str, str]] = _STRICT

    cycle_s: float = 0.25
    """Fast loop."""
    meta_s: float = 60.0
    """Slow loop, Delta T_meta."""
    first_meta_s: float = 20.0
    """The slow loop's first turn after a cold start."""
    early_meta_s: float = 20.0
    """The soonest turn after the last one: when an overload begins or violations drift."""
    ttl_s: float = 5.0
    """Lease of a directive."""
    initial_topology: str = "on_time"
    """A_0. Needs nothing but prompt lengths and targets, which are always known, and holds
    through a burst before anything is measured."""
    initial_hints: dict[str, float] | None = None
    """Hints of ``initial_topology``; None: by work for ``sjf``, defaults for any other."""
    refused_retry_s: float = 30.0
    """A directive that an engine refused is not repeated for this long."""
    views: ViewConfig = field(default_factory=ViewConfig)
    calibration: CalibrationConfig = field(default_factory=CalibrationConfig)
    step_fit: StepFitConfig = field(default_factory=StepFitConfig)
    statera: StateraConfig = field(default_factory=StateraConfig)
    rules: RulesConfig = field(default_factory=RulesConfig)
    bypass: BypassConfig = field(default_factory=BypassConfig)
    rollback: RollbackConfig = field(default_factory=RollbackConfig)

    def __post_init__(self) -> None:
        require_above("cycle_s", self.cycle_s, 0)
        require("meta_s", self.meta_s, self.views.long_window_s)
        require_above("first_meta_s", self.first_meta_s, 0)
        require_above("early_meta_s", self.early_meta_s, 0)
        require_above("ttl_s", self.ttl_s, 0)
        require_less("cycle_s", self.cycle_s, "ttl_s", self.ttl_s)
        require("refused_retry_s", self.refused_retry_s, 0)

    def first_hints(self) -> dict[str, float]:
        """Hints of the first directive."""
        if self.initial_hints is not None:
            return dict(self.initial_hints)
        return dict(SHORTEST_FIRST) if self.initial_topology == "sjf" else {}
