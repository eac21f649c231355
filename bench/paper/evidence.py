"""All runs of one invocation, and medians over their seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from statistics import median

from hmas.bench.paper.figures_of_run import RunFigures
from hmas.bench.paper.jobs import Job, JobResult
from hmas.engine.topologies import BASELINE

Value = Callable[[RunFigures], float]

STATIC = "static:"


class Evidence:
    """Every system saw the same requests of a workload and seed."""

    def __init__(self, done: Iterable[tuple[Job, JobResult]]) -> None:
        self._runs: dict[tuple[str, str], list[RunFigures]] = defaultdict(list)
        self._bounds: dict[str, list[float]] = defaultdict(list)
        for job, result in done:
            for run in result.runs:
                self._runs[run.scenario, run.system].append(run)
            if result.bound is not None:
                self._bounds[job.scenario].append(result.bound)

    def scenarios(self) -> list[str]:
        return list(dict.fromkeys(scenario for scenario, _ in self._runs))

    def systems(self, scenario: str) -> list[str]:
        return [system for name, system in self._runs if name == scenario]

    def runs(self, scenario: str, system: str) -> list[RunFigures]:
        """One per seed, empty when this was not run."""
        return self._runs.get((scenario, system), [])

    def median(self, scenario: str, system: str, value: Value) -> float | None:
        runs = self.runs(scenario, system)
        return median(map(value, runs)) if runs else None

    def goodput(self, scenario: str, system: str) -> float | None:
        return self.median(scenario, system, lambda run: run.goodput_rate)

    def bound(self, scenario: str) -> float | None:
        bounds = self._bounds.get(scenario)
        return median(bounds) if bounds else None

    def best_static(self, scenario: str, *, plain: bool = False) -> str | None:
        """The pair with the highest median goodput; ``plain``: among those in FCFS order."""
        prefix = f"{STATIC}{BASELINE}:" if plain else STATIC
        pairs = [name for name in self.systems(scenario) if name.startswith(prefix)]
        return max(pairs, key=lambda pair: self.goodput(scenario, pair) or 0.0, default=None)

    def best(self, scenario: str) -> str | None:
        """The system with the highest median goodput, whatever it is."""
        names = self.systems(scenario)
        return max(names, key=lambda name: self.goodput(scenario, name) or 0.0, default=None)
