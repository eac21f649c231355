"""Runs (workload, seed, system) jobs on all cores, with progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

from hmas.bench.clairvoyant import upper_bound
from hmas.bench.lengths import LengthKnowledge
from hmas.bench.paper.figures_of_run import RunFigures, figures
from hmas.bench.paper.systems import System
from hmas.bench.replay import replay
from hmas.bench.scenarios.base import Scenario
from hmas.bench.scenarios.catalogue import SCENARIOS, shortened
from hmas.bench.workload import Workload
from hmas.engine.simulator.profile import load_profile

OnDone = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Job:
    """One workload of one seed through several systems; ``factor`` shortens it.

    The workload travels by name, so that each process builds it once.
    """

    scenario: str
    seed: int
    systems: tuple[System, ...]
    data: Path | None
    factor: float = 1.0
    bounded: bool = False


@dataclass(frozen=True, slots=True)
class JobResult:
    runs: tuple[RunFigures, ...]
    bound: float | None


def run_job(job: Job) -> JobResult:
    """All systems on the very same requests."""
    scenario = shortened(SCENARIOS[job.scenario], job.factor)
    runs = [_run(scenario, job, system) for system in job.systems]
    bound = None
    if job.bounded:
        workload = _workload(scenario, job.seed, job.data, LengthKnowledge.TRUE)
        bound = upper_bound(workload.requests, load_profile(scenario.profile)).goodput_rate
    return JobResult(tuple(runs), bound)


def _run(scenario: Scenario, job: Job, system: System) -> RunFigures:
    workload = _workload(scenario, job.seed, job.data, system.lengths)
    report = replay(workload, system.replay_config(scenario.profile))
    return figures(scenario.name, system.name, job.seed, report, workload.span_s)


@lru_cache(maxsize=4)
def _workload(
    scenario: Scenario, seed: int, data: Path | None, lengths: LengthKnowledge
) -> Workload:
    return scenario.workload(seed, data, lengths=lengths)


def run_all(jobs: Sequence[Job], on_done: OnDone, workers: int | None = None) -> list[JobResult]:
    """Results in the order of ``jobs``, whatever the order in which they were done."""
    context = get_context("spawn")
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=context) as pool:
        futures = [pool.submit(run_job, job) for job in jobs]
        for _ in as_completed(futures):
            on_done()
        return [future.result() for future in futures]
