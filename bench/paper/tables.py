"""Tables 1, 2 and 4 and figures 5, 6 and 8: the paper's number beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hmas.bench.paper.evidence import Evidence, Value
from hmas.bench.paper.figures_of_run import RunFigures
from hmas.bench.paper.numbers import (
    FIGURE_5_ESG_AT_50_RPS,
    FIGURE_6_VLLM_GOODPUT,
    TABLE_1,
    TABLE_2,
    TABLE_4,
    Ablation,
    Robustness,
    Slice,
)
from hmas.bench.paper.plan import ABLATED, BY_CONSTRUCTION, SCALING, WINDOWS
from hmas.bench.paper.systems import ablations
from hmas.bench.scenarios.catalogue import SCENARIOS

Row = dict[str, object]
Rows = list[Row]

OURS_1: Final[Mapping[str, Value]] = {
    "mismatch_mean": lambda run: run.mismatch_mean,
    "mismatch_p95": lambda run: run.mismatch_p95,
    "ttft_compliance": lambda run: run.ttft_compliance,
    "goodput": lambda run: run.goodput_rate,
}
OURS_2: Final[Mapping[str, Value]] = {
    "esg": lambda run: run.esg_per_s,
    "ttft_p95": lambda run: run.ttft_ms[95],
    "tpot_p95": lambda run: run.tpot_ms[95],
    "goodput": lambda run: run.goodput_rate,
}


def drop(run: RunFigures) -> float:
    """Loss of goodput rate from phase I to phase III, as a share of phase I."""
    first, _, last = run.phases
    return 1 - last.goodput_rate / first.goodput_rate if first.goodput_rate else 0.0


def recovery(run: RunFigures) -> float:
    """Goodput rate of phase III over that of phase II."""
    _, middle, last = run.phases
    return last.goodput_rate / middle.goodput_rate if middle.goodput_rate else 0.0


OURS_4: Final[Mapping[str, Value]] = {
    "drop": drop,
    "recovery": recovery,
    "cv_ttft": lambda run: run.cv_ttft,
    "esg_peak_over_mean": lambda run: run.esg_peak_over_mean,
    "cv_esg": lambda run: run.cv_esg,
    "esg_mean": lambda run: run.esg_window_mean,
}
FIGURE_KEYS: Final[Mapping[str, Value]] = {
    "goodput_rate": lambda run: run.goodput_rate,
    "goodput_rps": lambda run: run.goodput_rps,
    "esg_per_s": lambda run: run.esg_per_s,
    "ttft_compliance": lambda run: run.ttft_compliance,
    "tpot_compliance": lambda run: run.tpot_compliance,
    "throughput_rps": lambda run: run.throughput_rps,
}


def table_1(evidence: Evidence) -> Rows:
    """Mismatch, TTFT compliance and goodput of the slices."""
    rows: Rows = []
    for scenario, published in TABLE_1.items():
        for system, stated in zip(("stock", "hmas"), published, strict=True):
            rows += _beside(evidence, scenario, system, stated, OURS_1)
    return rows


def table_2(evidence: Evidence, scenario: str = ABLATED[0]) -> Rows:
    """Ablations as multiples of H-MAS."""
    rows: Rows = []
    for variant in ablations():
        measured = "hmas" if variant.name == BY_CONSTRUCTION else variant.name
        if not evidence.runs(scenario, measured):
            continue
        ours = {key: _ratio(evidence, scenario, measured, of) for key, of in OURS_2.items()}
        paper: Ablation = TABLE_2[variant.name]
        rows.append(
            {
                "scenario": scenario,
                "system": variant.name,
                "title": variant.title,
                "note": variant.note,
                "paper": paper._asdict(),
                "ours": ours,
            }
        )
    return rows


def _ratio(evidence: Evidence, scenario: str, system: str, of: Value) -> float | None:
    ours, whole = evidence.median(scenario, system, of), evidence.median(scenario, "hmas", of)
    return None if ours is None or not whole else ours / whole


def table_4(evidence: Evidence) -> Rows:
    """Robustness under drift of the rate and of the tasks."""
    rows: Rows = []
    for (scenario, system), stated in TABLE_4.items():
        rows += _beside(evidence, scenario, system, stated, OURS_4)
    return rows


def _beside(
    evidence: Evidence,
    scenario: str,
    system: str,
    stated: Slice | Robustness,
    ours: Mapping[str, Value],
) -> Rows:
    if not evidence.runs(scenario, system):
        return []
    measured = {key: evidence.median(scenario, system, value) for key, value in ours.items()}
    return [{"scenario": scenario, "system": system, "paper": stated._asdict(), "ours": measured}]


def figure_5(evidence: Evidence) -> Row:
    """Goodput, ESG and compliance over the offered load; ESG over vLLM at the highest."""
    highest = SCALING[-1]
    ours = evidence.median(highest, "hmas", OURS_2["esg"])
    stock = evidence.median(highest, "stock", OURS_2["esg"])
    gain = ours / stock if ours and stock else None
    curves = _curves(evidence, SCALING)
    stated = {"paper": FIGURE_5_ESG_AT_50_RPS, "ours": gain}
    return {"curves": curves, "esg_over_vllm_at_highest": stated} if curves else {}


def figure_6(evidence: Evidence) -> Row:
    """The same trace for 300, 600 and 1200 s."""
    curves = _curves(evidence, WINDOWS)
    stated = {
        "paper": FIGURE_6_VLLM_GOODPUT,
        "ours": evidence.goodput(WINDOWS[-1], "stock"),
    }
    return {"curves": curves, "vllm_goodput_rate_at_longest": stated} if curves else {}


def figure_8(evidence: Evidence) -> Row:
    """Goodput and service gain over time, per phase, on the first seed."""
    made: Row = {}
    for scenario in ("semantic", "stress"):
        lines = {
            system: {
                "goodput_rate": runs[0].goodput_windows,
                "esg_per_s": runs[0].esg_windows,
                "phases": [phase.goodput_rate for phase in runs[0].phases],
            }
            for system in evidence.systems(scenario)
            if (runs := evidence.runs(scenario, system))
        }
        if lines:
            made[scenario] = {"phases": list(SCENARIOS[scenario].phases), "systems": lines}
    return made


def _curves(evidence: Evidence, scenarios: tuple[str, ...]) -> Row:
    """Per system, one median per scenario of each figure."""
    curves: Row = {}
    for scenario in scenarios:
        for system in evidence.systems(scenario):
            figures = {
                key: evidence.median(scenario, system, of) for key, of in FIGURE_KEYS.items()
            }
            points = curves.setdefault(system, {})
            if isinstance(points, dict):
                points[scenario] = figures
    return curves
