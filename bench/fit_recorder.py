"""What a real vLLM did, step by step: recorded inside the engine, read by ``hmas bench fit``.

``vllm serve MODEL --scheduler-cls hmas.bench.fit_recorder.RecordingScheduler`` with
``HMAS_STEP_LOG=FILE`` runs vLLM's own scheduler and writes one JSON array per line:
``["step", begun_s, ended_s, prefill, context, sequences, more]`` and, for requests,
``["added" | "first" | "last", id, at_s]``. Times are of the monotonic clock, which all processes
of one machine share, so a client's times compare with them.
"""

from __future__ import annotations

import json
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from hmas.bench.kernels import StepShape

LOG_VARIABLE: Final = "HMAS_STEP_LOG"


def RecordingScheduler(vllm_config: Any, **kwargs: Any) -> Any:  # noqa: N802 - used as a class
    """The ``--scheduler-cls``: a stock scheduler, recorded. Raises KeyError without the file."""
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler

    path = Path(os.environ[LOG_VARIABLE])
    asynchronous = vllm_config.scheduler_config.async_scheduling
    scheduler = (AsyncScheduler if asynchronous else Scheduler)(vllm_config=vllm_config, **kwargs)
    SchedulerProbe(scheduler, path.open("w", buffering=1, encoding="utf-8"))
    return scheduler


class SchedulerProbe:
    """Wraps the methods of one live scheduler; about 20 µs per step."""

    def __init__(
        self, scheduler: Any, sink: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._scheduler = scheduler
        self._sink = sink
        self._clock = clock
        self._pending: dict[int, tuple[float, StepShape]] = {}
        self._schedule = scheduler.schedule
        self._update = scheduler.update_from_output
        self._add = scheduler.add_request
        scheduler.schedule = self.schedule
        scheduler.update_from_output = self.update_from_output
        scheduler.add_request = self.add_request

    def add_request(self, request: Any, *arguments: Any, **options: Any) -> Any:
        self._write("added", request.request_id, self._clock())
        return self._add(request, *arguments, **options)

    def schedule(self, *arguments: Any, **options: Any) -> Any:
        begun_s = self._clock()
        requests = self._scheduler.requests
        before = {name: request.num_computed_tokens for name, request in requests.items()}
        output = self._schedule(*arguments, **options)
        if output.num_scheduled_tokens:
            self._pending[id(output)] = begun_s, self._shape(output.num_scheduled_tokens, before)
        return output

    def update_from_output(self, output: Any, *arguments: Any, **options: Any) -> Any:
        result = self._update(output, *arguments, **options)
        begun_s, shape = self._pending.pop(id(output), (0.0, None))
        ended_s = self._clock()
        if shape is not None:
            more = bool(self._scheduler.has_unfinished_requests())
            self._write("step", begun_s, ended_s, *shape, more)
        for batch in result.values():
            for answer in batch.outputs:
                self._answered(answer, ended_s)
        return result

    def _answered(self, answer: Any, at_s: float) -> None:
        if answer.prefill_stats is not None:
            self._write("first", answer.request_id, at_s)
        if answer.finish_reason is not None:
            self._write("last", answer.request_id, at_s)

    def _shape(self, scheduled: dict[str, int], before: dict[str, int]) -> StepShape:
        prefill = context = 0
        for name, tokens in scheduled.items():
            computed = before.get(name, 0)
            prompt = self._scheduler.requests[name].num_prompt_tokens
            prefill += tokens if computed < prompt else 0
            context += computed + tokens
        return StepShape(prefill, context, len(scheduled))

    def _write(self, *record: object) -> None:
        self._sink.write(json.dumps(record) + "\n")


@dataclass(slots=True)
class RequestTimes:
    """When one request passed through the engine, monotonic seconds."""

    added_s: float
    first_s: float | None = None
    last_s: float | None = None


@dataclass(frozen=True, slots=True)
class StepLog:
    """Everything recorded between two times; ``spans`` are begin and end of each step."""

    shapes: list[StepShape] = field(default_factory=list)
    step_ms: list[float] = field(default_factory=list)
    requests: dict[str, RequestTimes] = field(default_factory=dict)
    spans: list[tuple[float, float]] = field(default_factory=list)

    def idle(self, from_s: float, to_s: float) -> bool:
        """Whether no step ran in this time."""
        place = bisect_left(self.spans, (to_s,))
        return place == 0 or self.spans[place - 1][1] <= from_s


def read_log(path: Path, since_s: float = 0.0, until_s: float = float("inf")) -> StepLog:
    """Steps that began, and requests that were added, in this time.

    A step lasts until the next one begins while the engine has work, so that what happens
    between steps counts too; the last one before a pause lasts until its answer is processed.
    Tokens count as made when their step ends in this sense.
    """
    log = StepLog()
    ends: dict[float, float] = {}
    steps = []
    for kind, *record in _records(path):
        if kind == "step" and since_s <= record[0] < until_s:
            steps.append(record)
        elif kind == "added" and since_s <= record[1] < until_s:
            log.requests[record[0]] = RequestTimes(record[1])
        elif kind == "first" and record[0] in log.requests:
            log.requests[record[0]].first_s = record[1]
        elif kind == "last" and record[0] in log.requests:
            log.requests[record[0]].last_s = record[1]
    for step, next_step in zip(steps, [*steps[1:], None], strict=True):
        begun_s, ended_s, prefill, context, sequences, more = step
        if more and next_step is not None:
            ended_s = next_step[0]
        log.shapes.append(StepShape(prefill, context, sequences))
        log.step_ms.append((ended_s - begun_s) * 1000)
        log.spans.append((begun_s, ended_s))
        ends[step[1]] = ended_s
    for times in log.requests.values():
        times.first_s = ends.get(times.first_s or 0.0, times.first_s)
        times.last_s = ends.get(times.last_s or 0.0, times.last_s)
    return log


def _records(path: Path) -> Iterator[Sequence[Any]]:
    """Whole lines only: the writer may be in the middle of its last one."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("]\n"):
                yield json.loads(line)
