"""What a scenario is: a function of seed, duration and data folder, and how it is annotated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hmas.bench.lengths import LengthKnowledge, describe, known_lengths, mean_relative_error
from hmas.bench.slo import annotate
from hmas.bench.traces import TraceRequest
from hmas.bench.workload import Workload
from hmas.engine.features import TaskType

FALLBACK_NOTE = "generated from fitted statistics: the trace is not at hand"


@dataclass(frozen=True, slots=True)
class Ask:
    """Which instance of a scenario; ``data`` is the data folder, None where it is absent."""

    seed: int
    duration_s: float
    data: Path | None


@dataclass(frozen=True, slots=True)
class Made:
    """Requests in order of arrival, and where they come from.

    ``tasks`` are given where the scenario itself decides them. With ``by_source`` each source
    is a tenant of its own.
    """

    requests: Sequence[TraceRequest]
    source: str
    tasks: Sequence[TaskType] | None = None
    by_source: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """One workload of the paper's evaluation.

    ``phases`` are named parts of equal length; ``rps`` is the nominal mean rate, for reports.
    """

    name: str
    title: str
    profile: str
    duration_s: float
    rps: float
    make: Callable[[Ask], Made]
    phases: tuple[str, ...] = ()
    group: str = ""

    def workload(
        self,
        seed: int,
        data: Path | None,
        *,
        duration_s: float | None = None,
        lengths: LengthKnowledge = LengthKnowledge.PREDICTED,
    ) -> Workload:
        """Annotated requests (paper E.5); same arguments, same workload.

        Raises:
            ValueError: a duration that is not positive, a trace that cannot be read.
        """
        span_s = self.duration_s if duration_s is None else duration_s
        made = self.make(Ask(seed, span_s, data))
        known = known_lengths(made.requests, lengths, seed)
        annotated = annotate(made.requests, known, seed, tasks=made.tasks, by_source=made.by_source)
        return Workload(
            requests=tuple(annotated),
            source=made.source,
            lengths=describe(lengths),
            length_error=mean_relative_error(made.requests, known),
            span_s=span_s,
        )
