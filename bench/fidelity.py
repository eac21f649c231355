"""Simulator against reality: ``python -m hmas.bench.fidelity`` (``make bench-fidelity``).

Compares TTFT, TPOT and E2E at p50 and p95 on requests that the step model was not fitted on:
a real vLLM on this machine's CPU, and three published GPU runs where the data is at hand. Goal
5 %, limit 10 %; the exit code is 1 when a figure is above the limit.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from hmas.bench.demo_progress import Lines, ProgressLine
from hmas.bench.fidelity_cpu import CpuPlan, compare_cpu
from hmas.bench.fidelity_published import compare_published
from hmas.bench.fidelity_table import GOAL, LIMIT, Comparison, render
from hmas.bench.live import OnProgress
from hmas.bench.live import Progress as Reached
from hmas.bench.vllm_server import VllmError
from hmas.engine.clock import SystemClock

PARTS: Final = ("cpu", "published")
LINE_EVERY_S: Final = 15.0


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    line = ProgressLine(Console(stderr=True))
    parts = [arguments.only] if arguments.only else list(PARTS)
    compared: list[Comparison] = []
    load_before = os.getloadavg()[0]
    try:
        if "published" in parts:
            compared += compare_published(arguments.data, line.say)
        if "cpu" in parts:
            compared.append(_cpu(_plan(arguments), line))
    except (VllmError, RuntimeError, OSError) as error:
        line.say(f"fidelity: {error}")
        return 1
    outcome = report(compared, load_before, sys.argv[1:] if argv is None else argv)
    print(json.dumps(outcome) if arguments.json else _text(compared, outcome))
    return 0 if outcome["within_limit"] else 1


def report(compared: Sequence[Comparison], load: float, argv: Sequence[str]) -> dict[str, Any]:
    """Everything that was measured, with where and how."""
    return {
        "command": " ".join(["python -m hmas.bench.fidelity", *argv]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.python_version()}",
        "at_s": round(SystemClock().now_s()),
        "load_average_before": round(load, 2),
        "load_average_after": round(os.getloadavg()[0], 2),
        "goal": GOAL,
        "limit": LIMIT,
        "within_goal": all(c.worst <= GOAL for c in compared),
        "within_limit": all(c.worst <= LIMIT for c in compared),
        "comparisons": [
            {
                "title": one.title,
                "detail": one.detail,
                "rows": [{**asdict(row), "error": row.error} for row in one.rows],
            }
            for one in compared
        ],
    }


def _cpu(plan: CpuPlan, line: ProgressLine) -> Comparison:
    def on_run(name: str) -> OnProgress:
        return Lines(line, name, _words, LINE_EVERY_S)

    with tempfile.TemporaryDirectory(prefix="hmas-fidelity-") as folder:
        return compare_cpu(plan, Path(folder), on_run, line.say)


def _words(reached: Reached) -> str:
    return f"{reached.elapsed_s:.0f} s, {reached.done} of {reached.requests} done"


def _plan(arguments: argparse.Namespace) -> CpuPlan:
    plan, seconds = CpuPlan(), arguments.seconds
    if seconds is not None:
        fit, test = (
            replace(plan.fit, duration_s=seconds / 2),
            replace(plan.test, duration_s=seconds),
        )
        plan = replace(plan, fit=fit, test=test)
    return replace(plan, repeats=arguments.repeats)


def _text(compared: Sequence[Comparison], outcome: dict[str, Any]) -> str:
    head = (
        f"{outcome['command']}\n{outcome['machine']}, load average"
        f" {outcome['load_average_before']} before and {outcome['load_average_after']} after"
    )
    verdict = "all figures within" if outcome["within_limit"] else "figures above"
    worst = max((one.worst for one in compared), default=0.0)
    foot = f"{verdict} the limit of {LIMIT:.0%} (goal {GOAL:.0%}); worst {worst:.1%}"
    return "\n\n".join([head, *map(render, compared), foot])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hmas.bench.fidelity", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one part instead of both")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--repeats", type=int, default=CpuPlan().repeats, help="real runs (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=float, help="of arrivals in every test run (default 45)")
    parser.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
