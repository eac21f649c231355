"""The outcome as plain data: what was run, what came out, beside what the paper states."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import hmas
from hmas.bench.lengths import LengthKnowledge, describe
from hmas.bench.paper.evidence import Evidence
from hmas.bench.paper.figures_of_run import RunFigures
from hmas.bench.paper.plan import ABLATED, Effort
from hmas.bench.paper.tables import figure_5, figure_6, figure_8, table_1, table_2, table_4
from hmas.bench.paper.targets import targets
from hmas.bench.scenarios.base import FALLBACK_NOTE
from hmas.bench.scenarios.catalogue import SCENARIOS

Document = dict[str, object]
DIGITS: Final = 4

CAVEATS: Final = (
    "Everything here runs on the simulator in virtual time: one engine per workload, step times "
    "from profiles fitted to published measurements. The paper measured eight A100.",
    "The meta-controller is the rule map. No LLM runs in virtual time, so the row 'Rule-based "
    "Meta' is H-MAS itself by construction and says nothing about an LLM.",
    "SGLang-like means an order and SGLang's chunk size in this step model; chunks are mixed with "
    "decodes, which is kinder to it than its default of prompts first. LightLLM is not modelled.",
    "SLO pairs and task types are drawn from lengths (E.5): the traces carry neither.",
    "The clairvoyant bound is a relaxation: no system is above it, and none need reach it.",
    "The best static pair is chosen in hindsight for each workload, after a short pass over all "
    "orders and budgets up to 4,096 (FCFS: 16,384) on one seed; a pair that is only good on other "
    "seeds or over the whole duration may be missed.",
    "The loads of the Table 1 slices were found by a search on stock alone.",
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the numbers come from."""

    command: str
    now_s: float
    seconds: float

    def as_dict(self) -> Document:
        return {
            "command": self.command,
            "commit": commit(),
            "date": datetime.fromtimestamp(self.now_s, UTC).isoformat(timespec="seconds"),
            "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
            "python": platform.python_version(),
            "hmas": hmas.__version__,
            "seconds": round(self.seconds, 1),
            "load_average": round(os.getloadavg()[1], 2),
        }


def commit() -> str:
    """The checked-out commit, with a plus sign when files differ; 'unknown' outside git."""
    folder = Path(__file__).resolve().parent
    head = _git(folder, "rev-parse", "--short=12", "HEAD")
    if not head:
        return "unknown"
    return head + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(folder), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def document(evidence: Evidence, effort: Effort, origin: Origin) -> Document:
    """The JSON object of ``hmas bench paper``; keys in a fixed order."""
    made: Document = {
        **origin.as_dict(),
        "seeds": list(range(effort.seeds)),
        "duration_factor": effort.factor,
        "data": "traces" if effort.data is not None else FALLBACK_NOTE,
        "lengths": describe(LengthKnowledge.PREDICTED),
        "workloads": {name: _workload(evidence, name) for name in evidence.scenarios()},
        "tables": {
            "1": table_1(evidence),
            "2": [row for scenario in ABLATED for row in table_2(evidence, scenario)],
            "4": table_4(evidence),
        },
        "figures": {
            "5": figure_5(evidence),
            "6": figure_6(evidence),
            "8": figure_8(evidence),
        },
        "targets": [target.as_dict() for target in targets(evidence)],
        "caveats": list(CAVEATS),
    }
    return {key: rounded(value) for key, value in made.items()}


def _workload(evidence: Evidence, name: str) -> Document:
    scenario = SCENARIOS[name]
    systems = evidence.systems(name)
    first = evidence.runs(name, systems[0])[0]
    return {
        "title": scenario.title,
        "profile": scenario.profile,
        "rps": scenario.rps,
        "duration_s": scenario.duration_s,
        "source": first.source,
        "requests": first.requests,
        "length_error": _tagged_error(evidence, name, systems),
        "upper_bound": evidence.bound(name),
        "best_static": evidence.best_static(name),
        "best_fcfs": evidence.best_static(name, plain=True),
        "systems": {system: _system(evidence, name, system) for system in systems},
    }


def _tagged_error(evidence: Evidence, name: str, systems: Sequence[str]) -> float | None:
    """Mean relative error of the predicted lengths."""
    errors = [evidence.median(name, system, lambda run: run.length_error) for system in systems]
    return max((error for error in errors if error is not None), default=None)


def _system(evidence: Evidence, scenario: str, system: str) -> Document:
    """Medians over the seeds, and the goodput rate of each."""
    runs = evidence.runs(scenario, system)

    def of(name: str) -> float | None:
        return evidence.median(scenario, system, lambda run: float(getattr(run, name)))

    scalars = (
        "goodput_rate",
        "ttft_compliance",
        "tpot_compliance",
        "goodput_rps",
        "throughput_rps",
        "esg_per_s",
        "mismatch_mean",
        "mismatch_p95",
        "preemptions",
        "swaps",
        "lost",
    )
    return {
        **{name: of(name) for name in scalars},
        **_quantiles(evidence, scenario, system),
        "goodput_per_seed": [run.goodput_rate for run in runs],
        "topologies": runs[0].topologies,
    }


def _quantiles(evidence: Evidence, scenario: str, system: str) -> Document:
    made: Document = {}
    for percent in (50, 95, 99):

        def ttft(run: RunFigures, percent: int = percent) -> float:
            return run.ttft_ms[percent]

        def tpot(run: RunFigures, percent: int = percent) -> float:
            return run.tpot_ms[percent]

        made[f"ttft_p{percent}_ms"] = evidence.median(scenario, system, ttft)
        made[f"tpot_p{percent}_ms"] = evidence.median(scenario, system, tpot)
    return made


def rounded(value: object) -> object:
    """Floats to four digits, everywhere inside."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value
