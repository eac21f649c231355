"""All workloads by name, at the rates that were found on stock vLLM alone.

Rates are per engine. How each was chosen, before any other system was run on it:

- Azure 2023: 1 request/s is light (stock meets at least 95 % of the SLO pairs), 3 moderate, 6
  near saturation (the highest whole rate whose work still ends with its arrivals), 9 overload
  and 12 heavy overload.
- Azure 2024 week: the paper's 45.15 requests/s over its eight A100.
- Scaling: the paper's 30 to 50 requests/s over the smallest fleet of H100 on which stock holds
  at 30; that is two.
- Stress test (Eq. 13): the largest whole share of the paper's base rate of 40 at which stock
  still meets 90 % in the steady phase; that is a fleet of four, 10 per engine.
- Semantic drift: the lowest rate (in steps of 3) at which stock falls from phase I to phase III
  by the paper's 94 %.
- Slices: :func:`hmas.bench.paper.search.find_rate` on stock alone, aimed at the TTFT
  compliance that the paper states for vLLM.
- ServeGen: the lowest even rate at which stock meets less than half.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hmas.bench.scenarios.azure import replayed, week
from hmas.bench.scenarios.base import Scenario
from hmas.bench.scenarios.staged import (
    bursts,
    drifting_share,
    semantic_drift,
    shaped,
    shifting_share,
    shifts,
    steady,
    stress,
)
from hmas.bench.scenarios.tenants import tenants

A100: Final = "a100-qwen3-8b"
H100: Final = "h100-qwen3-30b-a3b"

RUN_S: Final = 600.0
SCALING_RUN_S: Final = 200.0
SCALING_ENGINES: Final = 2
SCALING_FLEET_RPS: Final = (30, 35, 40, 45, 50)
PAPER_ENGINES: Final = 8
PAPER_MEAN_RPS: Final = 45.15
STRESS_RPS: Final = 10.0
DRIFT_RPS: Final = 12.0
SERVEGEN_RPS: Final = 8.0
FAST_RPS, MEDIUM_RPS, SLOW_RPS = 11.25, 12.5, 22.75
AZURE_RPS: Final = {"light": 1.0, "moderate": 3.0, "near": 6.0, "over": 9.0, "heavy": 12.0}
WINDOWS_S: Final = (300, 1200)


def _azure() -> list[Scenario]:
    return [
        Scenario(name, f"Azure 2023, {name} load", A100, RUN_S, rps, replayed(rps), group="azure")
        for name, rps in AZURE_RPS.items()
    ]


def _scaling() -> list[Scenario]:
    return [
        Scenario(
            f"scaling-{fleet_rps}",
            f"{fleet_rps} requests/s over {SCALING_ENGINES} engines",
            H100,
            SCALING_RUN_S,
            fleet_rps / SCALING_ENGINES,
            shaped(fleet_rps / SCALING_ENGINES, steady),
            group="scaling",
        )
        for fleet_rps in SCALING_FLEET_RPS
    ]


def _windows() -> list[Scenario]:
    rps = AZURE_RPS["near"]
    return [
        Scenario(
            f"window-{span_s}",
            f"Azure 2023 for {span_s} s",
            A100,
            float(span_s),
            rps,
            replayed(rps),
            group="windows",
        )
        for span_s in WINDOWS_S
    ]


def _drifts() -> list[Scenario]:
    weekly_rps = PAPER_MEAN_RPS / PAPER_ENGINES
    return [
        Scenario("week", "Azure 2024, a week", A100, RUN_S, weekly_rps, week(weekly_rps)),
        Scenario(
            "stress",
            "Stress test (Eq. 13)",
            A100,
            RUN_S,
            STRESS_RPS,
            shaped(STRESS_RPS, stress),
            ("steady", "surge", "fluctuating"),
        ),
        Scenario(
            "semantic",
            "Semantic drift",
            A100,
            RUN_S,
            DRIFT_RPS,
            semantic_drift(DRIFT_RPS),
            ("interactive", "long generation", "complex"),
        ),
        Scenario("servegen", "ServeGen tenants", A100, RUN_S, SERVEGEN_RPS, tenants(SERVEGEN_RPS)),
    ]


def slice_at(name: str, rps: float) -> Scenario:
    """The fast, medium or slow slice of Table 1 at a rate; the rest is a shared template.

    Raises:
        KeyError: another name.
    """
    shapes = {
        "fast": shaped(rps, bursts),
        "medium": shaped(rps, steady, drifting_share),
        "slow": shaped(rps, shifts, shifting_share),
    }
    title = f"{name.capitalize()} slice"
    return Scenario(name, title, A100, RUN_S, rps, shapes[name], group="slices")


def _slices() -> list[Scenario]:
    rates = {"fast": FAST_RPS, "medium": MEDIUM_RPS, "slow": SLOW_RPS}
    return [slice_at(name, rps) for name, rps in rates.items()]


SCENARIOS: Final[dict[str, Scenario]] = {
    scenario.name: scenario
    for scenario in (*_azure(), *_drifts(), *_slices(), *_scaling(), *_windows())
}


def shortened(scenario: Scenario, factor: float) -> Scenario:
    """The same scenario over a part of its duration; phases shrink with it."""
    return replace(scenario, duration_s=scenario.duration_s * factor)
