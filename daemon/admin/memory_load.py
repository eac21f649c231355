"""Invented load for the in-memory port: one engine's V_short, second by second."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from hmas.daemon.wire import LimitsOut, ViewPoint

LIMITS = LimitsOut(
    max_num_seqs=256,
    max_num_batched_tokens=8192,
    kv_blocks=12_000,
    block_size=16,
    max_model_len=32_768,
)
SLO_TTFT_MS = 2000.0
SLO_TPOT_MS = 80.0
PHASE_S = 180.0
PHASES = ("fcfs", "edf", "two_lane", "wfq")
"""The topology that suits each phase of the invented day; the others lose capacity."""


@dataclass(frozen=True, slots=True)
class Load:
    """What one second leaves behind for the next."""

    queue: float = 4.0
    running: float = 40.0
    n_run: float = 96.0
    token_budget: float = 2048.0


@dataclass(frozen=True, slots=True)
class Applied:
    """What the engine runs in that second; None leaves a control to regulation."""

    topology: str
    bypass: bool = False
    n_run: int | None = None
    token_budget: int | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """Requests that came and that were served in one second."""

    arrivals: float
    done: float


def phase_topology(at_s: float, offset_s: float) -> str:
    return PHASES[int((at_s + offset_s) // PHASE_S) % len(PHASES)]


def arrival_rate(at_s: float, offset_s: float, rng: random.Random) -> float:
    """Requests per second: a slow wave, a burst in each phase, noise."""
    wave = 0.3 * math.sin(2 * math.pi * (at_s + offset_s) / 420)
    into_phase_s = (at_s + offset_s) % PHASE_S
    burst = 0.55 * math.exp(-(((into_phase_s - 30) / 14) ** 2))
    return 12.0 * max(0.1, 1 + wave + burst + rng.gauss(0, 0.05))


def advance(
    load: Load, applied: Applied, at_s: float, offset_s: float, rng: random.Random
) -> tuple[Load, ViewPoint]:
    """The next second under what is applied: new state and what the cycle saw of it."""
    arrivals = arrival_rate(at_s, offset_s, rng)
    regulated = _regulate(load, applied)
    suits = applied.topology == phase_topology(at_s, offset_s) and not applied.bypass
    capacity = (17.5 if suits else 12.8) * min(1.0, regulated.n_run / 72)
    queue = min(400.0, max(0.0, load.queue + arrivals - capacity))
    done = min(load.queue + arrivals, capacity)
    running = min(regulated.n_run, 12 + 3.9 * done + rng.gauss(0, 2))
    following = replace(regulated, queue=queue, running=max(0.0, running))
    return following, _view(following, applied, at_s, Flow(arrivals, done), rng)


def _regulate(load: Load, applied: Applied) -> Load:
    if applied.bypass:
        return replace(load, n_run=LIMITS.max_num_seqs, token_budget=LIMITS.max_num_batched_tokens)
    pressure = 1 if load.queue > 12 else -1
    n_run = min(160.0, max(64.0, min(load.n_run, 160.0) + 2 * pressure))
    budget = min(4096.0, max(1024.0, min(load.token_budget, 4096.0) - 48 * pressure))
    return replace(
        load,
        n_run=float(applied.n_run or n_run),
        token_budget=float(applied.token_budget or budget),
    )


def _violations(value_ms: float, target_ms: float, rng: random.Random) -> float:
    share = 1 / (1 + math.exp(-(value_ms / target_ms - 1) * 7))
    return min(1.0, max(0.0, share * 0.9 - 0.01 + rng.gauss(0, 0.004)))


def _view(load: Load, applied: Applied, at_s: float, flow: Flow, rng: random.Random) -> ViewPoint:
    wait_ms = 1000 * load.queue / max(flow.done, 1.0)
    ttft = 190 + 0.45 * wait_ms + rng.gauss(0, 12)
    tpot = 17 + 0.16 * load.running + 0.002 * load.token_budget + rng.gauss(0, 0.8)
    ttft_p95, tpot_p95 = 2.1 * ttft + 0.3 * wait_ms, 1.35 * tpot
    late = _violations(ttft_p95, SLO_TTFT_MS, rng)
    slow = _violations(tpot_p95, SLO_TPOT_MS, rng)
    return ViewPoint(
        at_s=at_s,
        window_s=15.0,
        queue_length=round(load.queue),
        running=round(load.running),
        kv_used=round(min(0.99, 0.18 + load.running / 170), 4),
        busy_fraction=round(min(1.0, 0.35 + flow.done / 26), 4),
        token_fill=round(min(1.0, 0.3 + 0.028 * flow.done), 4),
        arrivals_per_s=round(flow.arrivals, 2),
        completions_per_s=round(flow.done, 2),
        samples=round(flow.done * 15),
        ttft_p50_ms=round(ttft, 1),
        ttft_p95_ms=round(ttft_p95, 1),
        ttft_p99_ms=round(1.4 * ttft_p95, 1),
        tpot_p50_ms=round(tpot, 1),
        tpot_p95_ms=round(tpot_p95, 1),
        tpot_p99_ms=round(1.15 * tpot_p95, 1),
        slo_ttft_ms=SLO_TTFT_MS,
        slo_tpot_ms=SLO_TPOT_MS,
        goodput_rate=round((1 - late) * (1 - slow), 4),
        ttft_violation_rate=round(late, 4),
        tpot_violation_rate=round(slow, 4),
        violation_rate=round(1 - (1 - late) * (1 - slow), 4),
        goodput_per_s=round(flow.done * (1 - late) * (1 - slow), 2),
        tokens_per_s=round(flow.done * 214.0),
        preemptions_per_s=0.0,
        sheds_per_s=0.0,
        coverage=0.94,
        signal_age_s=0.1,
        n_run=None if applied.bypass else round(load.n_run),
        token_budget=None if applied.bypass else round(load.token_budget),
        topology=applied.topology,
        bypass=applied.bypass,
    )
