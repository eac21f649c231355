"""V_short and V_long: what the QoS agent tells the controllers (paper 3.3, C.1).

A signal that was not measured is ``None``, never 0. Times are seconds since the epoch,
rates are per second, shares lie in [0, 1].
"""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec


class Drift(StrEnum):
    """Which part of the workload left its recent baseline."""

    ARRIVAL_RATE = "arrival_rate"
    PROMPT_LENGTH = "prompt_length"
    OUTPUT_LENGTH = "output_length"
    TASK_MIX = "task_mix"
    TENANT_MIX = "tenant_mix"
    VIOLATION_RATE = "violation_rate"
    PREDICTION_ERROR = "prediction_error"


class VShort(msgspec.Struct, frozen=True, kw_only=True):
    """One engine over the last seconds, refreshed every cycle.

    Engine signals (queue, KV, busy, fill, steps) cover ``state_window_s``, request signals
    (latencies, violations, rates) ``latency_window_s``.

    Attributes:
        busy_fraction: time in steps over time covered.
        token_fill: scheduled tokens over the budgets of the steps.
        step_tokens_p95: 95th percentile of the tokens scheduled in one step.
        step_interval_ms: mean time from step to step while busy: the TPOT of what decodes now.
        tpot_utilisation: u_t, ``step_interval_ms`` over the tight (10th percentile) TPOT
            target of recent arrivals; 1 means the tight requests just make it.
        tpot_at_risk: share of recent arrivals whose TPOT target is below
            ``step_interval_ms``: the TPOT violation rate to come, without its lag.
        violation_rate: nu, share of requests that miss TTFT or TPOT (shed and failed ones
            too). A TTFT miss counts when its deadline passes, not when the token comes at
            last; see ``qos.requests.violation_rate``.
        samples: requests behind ``ttft_violation_rate``, and so behind nu.
        goodput_per_s: requests that met both targets, per second.
        mismatch: M_rho (Eq. 7) over the latency window.
        coverage: share of recent output lengths under the conformal bound that was live.
        event_gaps: batches lost between engine and daemon since the controller started.
        signal_age_s: time since the engine's last event.
    """

    at_s: float
    engine_id: str
    waiting: int | None = None
    running: int | None = None
    kv_used: float | None = None
    busy_fraction: float | None = None
    token_fill: float | None = None
    step_tokens_p95: float | None = None
    step_interval_ms: float | None = None
    step_p50_ms: float | None = None
    step_p95_ms: float | None = None
    tpot_utilisation: float | None = None
    tpot_at_risk: float | None = None
    ttft_p50_ms: float | None = None
    ttft_p95_ms: float | None = None
    ttft_p99_ms: float | None = None
    tpot_p50_ms: float | None = None
    tpot_p95_ms: float | None = None
    ttft_violation_rate: float | None = None
    tpot_violation_rate: float | None = None
    violation_rate: float | None = None
    samples: int = 0
    arrivals_per_s: float | None = None
    completions_per_s: float | None = None
    goodput_per_s: float | None = None
    sheds_per_s: float | None = None
    tokens_per_s: float | None = None
    preemptions_per_s: float | None = None
    mismatch: float | None = None
    coverage: float | None = None
    n_run: int | None = None
    token_budget: int | None = None
    topology: str | None = None
    bypass: bool = False
    directive_version: int | None = None
    lease_expired: bool = False
    doubt: str = ""
    event_gaps: int = 0
    signal_age_s: float | None = None


class GroupView(msgspec.Struct, frozen=True, kw_only=True):
    """One task type or tenant within a window. ``share`` is its part of the arrivals."""

    share: float
    samples: int
    ttft_violation_rate: float | None = None
    tpot_violation_rate: float | None = None
    violation_rate: float | None = None
    ttft_p95_ms: float | None = None
    tpot_p95_ms: float | None = None


class LengthMix(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of the requests of a window: share per length bucket, mean and variance."""

    shares: dict[int, float]
    mean: float | None = None
    variance: float | None = None

    @property
    def variation(self) -> float | None:
        """Coefficient of variation."""
        if self.mean is None or self.variance is None or self.mean <= 0:
            return None
        return math.sqrt(self.variance) / self.mean


class VLong(msgspec.Struct, frozen=True, kw_only=True):
    """One engine over one window (paper C.1); only ``completed`` ones reach the slow loop.

    Attributes:
        rps: arrivals per second; ``rps_variation`` is the CV of the per-second counts.
        prompt, output: length mix; outputs are true lengths of finished requests.
        work_variation: CV of the predicted work (prompt + 2 x output tokens) of arrivals.
        tasks, tenants: composition with each group's violations; the busiest ones, rest
            under ``other``.
        unknown_share: share of arrivals that perception could not tag.
        samples: requests behind the violation rates.
        goodput_rate: share of those that met both targets (Eq. 9).
        hol_index: share of the TTFT misses in which a short request arrived while most of the
            predicted work waiting ahead belonged to long ones (4 times the median work).
        fairness: Jain index over tenants of service received over weighted max-min fair
            entitlement; 1 is fair, None with fewer than two tenants in demand.
        mismatch_mean, mismatch_p95: M_rho of Eq. 7 over the window.
        esg_per_s: expected service gain per second (Eq. 6).
        throughput_per_s: completed requests per second.
    """

    engine_id: str
    start_s: float
    end_s: float
    completed: bool
    topology: str | None = None
    bypass: bool = False
    arrivals: int = 0
    rps: float = 0.0
    rps_variation: float | None = None
    prompt: LengthMix
    output: LengthMix
    work_variation: float | None = None
    tasks: dict[str, GroupView] = {}
    tenants: dict[str, GroupView] = {}
    unknown_share: float | None = None
    samples: int = 0
    ttft_violation_rate: float | None = None
    tpot_violation_rate: float | None = None
    violation_rate: float | None = None
    goodput_rate: float | None = None
    ttft_p50_ms: float | None = None
    ttft_p95_ms: float | None = None
    ttft_p99_ms: float | None = None
    tpot_p50_ms: float | None = None
    tpot_p95_ms: float | None = None
    hol_index: float | None = None
    fairness: float | None = None
    mismatch_mean: float | None = None
    mismatch_p95: float | None = None
    esg_per_s: float = 0.0
    throughput_per_s: float = 0.0
    tokens_per_s: float | None = None
    busy_fraction: float | None = None
    kv_used: float | None = None
    waiting: float | None = None
    preemptions: int = 0
    sheds: int = 0
    coverage: float | None = None
    drift: list[Drift] = []
    event_gaps: int = 0

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s
