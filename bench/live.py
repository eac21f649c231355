"""Replay in real time against a gateway (or any OpenAI server): open loop, streaming."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import aiohttp

from hmas.bench.metrics import RequestResult, Summary, quantile, summarize
from hmas.bench.slo import WorkloadRequest
from hmas.bench.stream import LiveTarget, Seconds, send
from hmas.daemon.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a live replay is."""

    elapsed_s: float
    sent: int
    done: int
    failed: int
    within_slo: int
    requests: int


@dataclass(frozen=True, slots=True)
class LiveReport:
    """Results in order of arrival.

    ``errors`` counts the failures by reason; ``late_p99_s`` is how far the client itself lagged
    behind the schedule (its own limit, included in every TTFT).
    """

    results: tuple[RequestResult, ...]
    duration_s: float
    errors: dict[str, int]
    late_p99_s: float

    @property
    def lost(self) -> int:
        return sum(not result.finished for result in self.results)

    def summary(self) -> Summary:
        return summarize(self.results, self.duration_s)


@dataclass(slots=True)
class _Run:
    """Counters of a replay in progress."""

    requests: int
    sent: int = 0
    failed: int = 0
    within_slo: int = 0
    results: dict[int, RequestResult] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    late_s: list[float] = field(default_factory=list)

    def take(self, index: int, result: RequestResult, error: str) -> None:
        self.results[index] = result
        self.failed += not result.finished
        self.within_slo += result.slo_ok
        if error:
            self.errors[error] += 1

    def progress(self, elapsed_s: float) -> Progress:
        return Progress(
            elapsed_s, self.sent, len(self.results), self.failed, self.within_slo, self.requests
        )


OnProgress = Callable[[Progress], None]
PROGRESS_EVERY_S = 0.5


async def replay_live(
    requests: Sequence[WorkloadRequest],
    target: LiveTarget,
    on_progress: OnProgress | None = None,
) -> LiveReport:
    """Send every request at its arrival time, whatever the server does, and wait for all."""
    run = _Run(len(requests))
    start_s = time.perf_counter()

    def now_s() -> float:
        return time.perf_counter() - start_s

    tasks = Tasks()
    if on_progress is not None:
        tasks.start(_report_progress(run, now_s, on_progress), name="replay progress")
    try:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            await _send_all(session, run, requests, target, now_s)
    finally:
        await tasks.close()
    if on_progress is not None:
        on_progress(run.progress(now_s()))
    return _report(run, now_s())


async def _send_all(
    session: aiohttp.ClientSession,
    run: _Run,
    requests: Sequence[WorkloadRequest],
    target: LiveTarget,
    now_s: Seconds,
) -> None:
    async def one(index: int, request: WorkloadRequest) -> None:
        due_s = request.features.arrival_s
        run.take(index, *await send(session, request, target, now_s, due_s))

    async with asyncio.TaskGroup() as group:
        for index, request in enumerate(requests):
            due_s = request.features.arrival_s
            await asyncio.sleep(max(0.0, due_s - now_s()))
            run.late_s.append(now_s() - due_s)
            run.sent += 1
            group.create_task(one(index, request))


async def _report_progress(run: _Run, now_s: Seconds, on_progress: OnProgress) -> None:
    while True:
        on_progress(run.progress(now_s()))
        await asyncio.sleep(PROGRESS_EVERY_S)


def _report(run: _Run, duration_s: float) -> LiveReport:
    return LiveReport(
        results=tuple(run.results[index] for index in range(run.requests)),
        duration_s=duration_s,
        errors=dict(run.errors),
        late_p99_s=quantile(run.late_s, 99),
    )
