"""Which workloads and systems a selection of tables and figures needs, as jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hmas.bench.paper.jobs import Job, JobResult
from hmas.bench.paper.systems import (
    BUDGETS,
    H_MAS,
    ORACLE,
    STOCK_VLLM,
    System,
    ablations,
    main_systems,
    static,
    statics,
)
from hmas.bench.scenarios.catalogue import AZURE_RPS, SCENARIOS
from hmas.engine.topologies import BASELINE

TABLES: Final = (1, 2, 4)
FIGURES: Final = (5, 6, 8)
SLICES: Final = ("fast", "medium", "slow")
DRIFTS: Final = ("stress", "semantic")
ABLATED: Final = ("near", "stress")
SCALING: Final = tuple(name for name in SCENARIOS if name.startswith("scaling-"))
WINDOWS: Final = ("window-300", "near", "window-1200")
"""The near-saturation replay is the one of 600 s."""
TUNED: Final = ("near", "over", "heavy", "stress")
"""Where every static pair competes."""
CALM: Final = ("light", "moderate")
CALM_BUDGETS: Final = (256, 512, 1024)
"""What competes at calm loads, where every order is nearly the same."""
BOUNDED: Final = (*AZURE_RPS, "week", "servegen", *DRIFTS, *SLICES)
OTHERS: Final = (*AZURE_RPS, "week", "servegen")

COARSE_FACTOR: Final = 0.2
"""Share of the duration that the coarse pass over static pairs replays, on one seed."""
FINALISTS: Final = 3
FCFS_FINALISTS: Final = 2
COARSE_BUDGETS: Final = tuple(tokens for tokens in BUDGETS if tokens <= 4096)
"""Wider budgets only with FCFS: where that gains nothing from them, no order does."""
BY_CONSTRUCTION: Final = "rule-meta"
"""The ablation that is H-MAS itself here: never run twice."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Nothing selected means everything."""

    tables: frozenset[int] = frozenset()
    figures: frozenset[int] = frozenset()

    @property
    def everything(self) -> bool:
        return not self.tables and not self.figures


@dataclass(frozen=True, slots=True)
class Effort:
    """``factor`` shortens every workload; ``data`` is None where the traces are absent."""

    seeds: int
    factor: float
    data: Path | None


def wanted(selection: Selection) -> dict[str, list[System]]:
    """Systems per workload, without the static pairs."""
    chosen: dict[str, dict[str, System]] = {}

    def add(names: Iterable[str], systems: Sequence[System]) -> None:
        for name in names:
            chosen.setdefault(name, {}).update({system.name: system for system in systems})

    tables, figures = selection.tables, selection.figures
    groups: list[tuple[bool, Iterable[str], Sequence[System]]] = [
        (selection.everything, OTHERS, [*main_systems(), ORACLE]),
        (1 in tables, SLICES, main_systems()),
        (4 in tables or 8 in figures, DRIFTS, [*main_systems(), ORACLE]),
        (5 in figures, SCALING, main_systems()),
        (6 in figures, WINDOWS, main_systems()),
        (selection.everything, CALM, [static(BASELINE, tokens) for tokens in CALM_BUDGETS]),
    ]
    for is_wanted, names, systems in groups:
        if is_wanted or selection.everything:
            add(names, systems)
    if 2 in selection.tables or selection.everything:
        add(ABLATED, [STOCK_VLLM, H_MAS, *_run_ablations()])
    return {name: list(systems.values()) for name, systems in chosen.items()}


def _run_ablations() -> list[System]:
    return [system for system in ablations() if system.name != BY_CONSTRUCTION]


def jobs(systems: Mapping[str, Sequence[System]], effort: Effort, *, bounded: bool) -> list[Job]:
    """One job per workload, seed and system, and one for the clairvoyant bound."""
    made: list[Job] = []
    for name, chosen in systems.items():
        for seed in range(effort.seeds):
            of = [Job(name, seed, (one,), effort.data, effort.factor) for one in chosen]
            bound = Job(name, seed, (), effort.data, effort.factor, bounded=True)
            made += [*of, bound] if bounded and name in BOUNDED else of
    return made


def coarse_jobs(effort: Effort) -> list[Job]:
    """Every pair of an order and a sensible budget, briefly, on the first seed."""
    factor = effort.factor * COARSE_FACTOR
    wide = [static(BASELINE, tokens) for tokens in BUDGETS if tokens not in COARSE_BUDGETS]
    pairs = [*statics(COARSE_BUDGETS), *wide]
    return [Job(name, 0, (pair,), effort.data, factor) for name in TUNED for pair in pairs]


def finalists(coarse: Sequence[JobResult]) -> dict[str, list[System]]:
    """The best few pairs of each workload, and its best FCFS budgets."""
    scores: dict[str, dict[str, float]] = {}
    for result in coarse:
        for run in result.runs:
            scores.setdefault(run.scenario, {})[run.system] = run.goodput_rate
    return {name: _best(by_pair) for name, by_pair in scores.items()}


def _best(by_pair: Mapping[str, float]) -> list[System]:
    ranked = sorted(by_pair, key=lambda pair: -by_pair[pair])
    plain = [pair for pair in ranked if pair.split(":")[1] == BASELINE]
    kept = dict.fromkeys([*ranked[:FINALISTS], *plain[:FCFS_FINALISTS]])
    return [static(pair.split(":")[1], int(pair.split(":")[2])) for pair in kept]
