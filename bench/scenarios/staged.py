"""Workloads of a prescribed shape: scaling, the stress test, the slices, the semantic drift.

All draw their lengths from the pool of chats and coding requests (E.5). Arrivals are Poisson
around the prescribed rate, except in the semantic drift, which keeps Azure's burstiness.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hmas.bench.arrivals import require_positive
from hmas.bench.generator import arrival_times
from hmas.bench.scenarios.azure import replayed
from hmas.bench.scenarios.base import Ask, Made
from hmas.bench.scenarios.pool import LengthPool, length_pool, requests_of
from hmas.bench.slo import sample_tasks
from hmas.bench.traces import TraceRequest
from hmas.engine.features import TaskType

CODE_SHARE = 0.35
"""Share of coding requests where the mix does not change; the 2023 trace has 0.31."""

SLOT_S = 0.5
POISSON_SHAPE = 1.0

Times = NDArray[np.float64]
Shape = Callable[[Times, float], Times]
"""Rates (or shares) at these times of a run of that many seconds."""


def steady(times_s: Times, duration_s: float) -> Times:
    """Rate 1 all along."""
    return np.ones_like(times_s)


def stress(times_s: Times, duration_s: float) -> Times:
    """Eq. 13 in units of its base rate; the phases are thirds of the duration."""
    third = times_s / duration_s * 3
    fluctuating = np.where(times_s % 20 < 10, 1.8, 0.2)
    return np.where(third < 1, 0.6, np.where(third < 2, 1.4, fluctuating))


def bursts(times_s: Times, duration_s: float) -> Times:
    """Mean 1: every 30 s five seconds at 3.5, else 0.5. The long-run load never changes."""
    return np.where(times_s % 30 < 5, 3.5, 0.5)


def shifts(times_s: Times, duration_s: float) -> Times:
    """Mean 1: three lasting levels of arrival intensity."""
    third = times_s / duration_s * 3
    return np.where(third < 1, 0.6, np.where(third < 2, 1.3, 1.1))


def constant_share(times_s: Times, duration_s: float) -> Times:
    return np.full_like(times_s, CODE_SHARE)


def drifting_share(times_s: Times, duration_s: float) -> Times:
    """Long coding prompts grow steadily from a tenth to more than half of the requests."""
    return 0.1 + 0.5 * times_s / duration_s


def shifting_share(times_s: Times, duration_s: float) -> Times:
    """The task mix changes for good at each third."""
    third = times_s / duration_s * 3
    return np.where(third < 1, 0.2, np.where(third < 2, 0.35, 0.6))


def shaped(
    rps: float, rate: Shape = steady, code_share: Shape = constant_share
) -> Callable[[Ask], Made]:
    """Poisson arrivals at ``rps`` times ``rate``, a mix by ``code_share``."""

    def make(ask: Ask) -> Made:
        require_positive("duration", ask.duration_s)
        random = np.random.default_rng([ask.seed, 4])
        pool = length_pool(ask.data)
        times = _poisson(rps, rate, ask.duration_s, random)
        is_code = random.uniform(size=len(times)) < code_share(times, ask.duration_s)
        return Made(requests_of(times, pool.draw(is_code, random), is_code), pool.source)

    return make


def _poisson(rps: float, rate: Shape, duration_s: float, random: np.random.Generator) -> Times:
    slots = max(1, round(duration_s / SLOT_S))
    levels = rate((np.arange(slots) + 0.5) * duration_s / slots, duration_s)
    mean_rps = rps * float(levels.mean())
    return arrival_times(list(levels), mean_rps, duration_s, POISSON_SHAPE, random)


INTERACTIVE = (
    TaskType.QA,
    TaskType.DIALOGUE,
    TaskType.TRANSLATION,
    TaskType.EXTRACTION,
    TaskType.PARAPHRASING,
)
LONG_GENERATION = (
    TaskType.LETTER_DRAFTING,
    TaskType.MATH_REASONING,
    TaskType.ESSAY_GENERATION,
    TaskType.LONG_FORM_GENERATION,
    TaskType.RESEARCH_AND_COMMUNICATION,
)
SHORT_TOKENS = 512
"""An interactive request has fewer tokens in all; a long generation answers with more than
half of this."""


def semantic_drift(rps: float) -> Callable[[Ask], Made]:
    """Azure's arrivals; short chats, then long generations, then everything mixed (D.2)."""

    def make(ask: Ask) -> Made:
        random = np.random.default_rng([ask.seed, 5])
        arrivals = replayed(rps)(ask)
        pool = length_pool(ask.data)
        regimes = _regimes(pool, random)
        requests: list[TraceRequest] = []
        tasks: list[TaskType] = []
        for arrival in arrivals.requests:
            regime = regimes[min(2, int(3 * arrival.arrival_s / ask.duration_s))]
            like, task = regime[int(random.integers(len(regime)))]
            requests.append(
                TraceRequest(arrival.arrival_s, like.prompt_tokens, like.output_tokens, like.source)
            )
            tasks.append(task)
        return Made(requests, f"{arrivals.source} arrivals, {pool.source}", tasks)

    return make


def _regimes(
    pool: LengthPool, random: np.random.Generator
) -> tuple[list[tuple[TraceRequest, TaskType]], ...]:
    """Routes a sample of the pool into the three regimes by task type and length."""
    is_code = np.arange(8000) % 2 == 0
    requests = requests_of(np.zeros(len(is_code)), pool.draw(is_code, random), is_code)
    tagged = list(zip(requests, sample_tasks(requests, random), strict=True))
    short = [
        (r, task)
        for r, task in tagged
        if task in INTERACTIVE and r.prompt_tokens + r.output_tokens <= SHORT_TOKENS
    ]
    long = [
        (r, task)
        for r, task in tagged
        if task in LONG_GENERATION and r.output_tokens > SHORT_TOKENS // 2
    ]
    return short, long, tagged
