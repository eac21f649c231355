"""V_short, V_long and the switches between them, as series."""

from __future__ import annotations

from pydantic import Field

from hmas.daemon.wire.base import Answer, EpochS, Evidence, Horizon, Owner, Share


class ViewPoint(Answer):
    """One V_short: what one control cycle saw of one engine."""

    at_s: EpochS
    window_s: float
    queue_length: int | None = None
    running: int | None = None
    kv_used: Share | None = None
    busy_fraction: Share | None = None
    token_fill: Share | None = Field(None, description="share of B_token that steps used")
    arrivals_per_s: float | None = None
    completions_per_s: float | None = None
    samples: int = Field(0, description="finished requests behind the rates and quantiles")
    ttft_p50_ms: float | None = None
    ttft_p95_ms: float | None = None
    ttft_p99_ms: float | None = None
    tpot_p50_ms: float | None = None
    tpot_p95_ms: float | None = None
    tpot_p99_ms: float | None = None
    slo_ttft_ms: float | None = Field(None, description="median TTFT target of those requests")
    slo_tpot_ms: float | None = Field(None, description="median TPOT target of those requests")
    goodput_rate: Share | None = None
    ttft_violation_rate: Share | None = None
    tpot_violation_rate: Share | None = None
    violation_rate: Share | None = Field(None, description="missed TTFT or TPOT")
    goodput_per_s: float | None = None
    tokens_per_s: float | None = None
    preemptions_per_s: float | None = None
    sheds_per_s: float | None = None
    tpot_utilisation: float | None = Field(
        None, description="step interval over the tight TPOT target; above 1 is too slow"
    )
    coverage: Share | None = Field(None, description="of the conformal length bound, lately")
    signal_age_s: float | None = Field(None, description="since the engine's last event")
    n_run: int | None = Field(None, description="N_run in force; None is unbounded")
    token_budget: int | None = Field(None, description="B_token in force; None is unbounded")
    topology: str | None = None
    bypass: bool = False


class LongViewPoint(Answer):
    """One V_long: a whole window, as the meta-controller sees it."""

    at_s: EpochS
    window_s: float
    requests: int
    rps: float | None = None
    rps_variation: float | None = None
    prompt_tokens_mean: float | None = None
    output_tokens_mean: float | None = None
    length_variation: float | None = None
    ttft_violation_rate: Share | None = None
    tpot_violation_rate: Share | None = None
    goodput_rate: Share | None = None
    ttft_p99_ms: float | None = None
    tpot_p95_ms: float | None = None
    hol_index: float | None = None
    fairness: float | None = None
    mismatch: float | None = None
    drift: float | None = None
    tasks: dict[str, float] = Field(default_factory=dict)
    tenants: dict[str, float] = Field(default_factory=dict)
    other: Evidence = Field(default_factory=dict)


class TopologySwitch(Answer):
    """A moment at which an engine's topology or bypass changed."""

    at_s: EpochS
    engine_id: str
    before: str
    after: str
    owner: Owner
    sentence: str
    bypass: bool = False


class ViewSeries(Answer):
    """Views of one engine in order of time; the newest ``limit`` of them."""

    engine_id: str
    horizon: Horizon
    short: tuple[ViewPoint, ...] = ()
    long: tuple[LongViewPoint, ...] = ()
    switches: tuple[TopologySwitch, ...] = ()
