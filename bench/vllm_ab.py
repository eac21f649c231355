"""Stock vLLM against vLLM with H-MAS, on this machine: ``make bench-vllm-ab``.

The same requests against two real vLLM servers on the CPU with the same flags, in turns: stock,
asked directly, and with the plug-in behind ``hmas gateway`` and ``hmas daemon`` (no LLM). Rate,
lengths and SLOs follow the rules of ``hmas.bench.vllm_ab_load``. The exit code is 1 when the
goodput is below 1.5 times stock's, or when a request was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from hmas.bench import vllm_ab_load as load
from hmas.bench.demo_progress import ProgressLine
from hmas.bench.fidelity_cpu import pinned, split_cores
from hmas.bench.live import LiveReport, replay_live
from hmas.bench.random_model import CPU_LLAMA, write_model
from hmas.bench.slo import WorkloadRequest
from hmas.bench.stream import LiveTarget
from hmas.bench.vllm_ab_stack import StackError, control_stack
from hmas.bench.vllm_server import MODEL_NAME, SCHEDULER, VllmError, VllmServer, vllm_server

TARGET: Final = 1.5
MAX_NUM_SEQS: Final = 128
KV_BLOCKS: Final = 2000
FLAGS: Final = (
    "--dtype", "float32", "--enforce-eager", "--load-format", "dummy", "--max-model-len", "2048",
    "--max-num-batched-tokens", str(load.TOKEN_BUDGET),
)  # fmt: skip
PROBES: Final = 12
BURST: Final = 80
WARM_UP: Final = 24
SYSTEMS: Final = ("stock", "hmas")


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int = 3
    seconds: float = 30.0
    seed: int = 0
    overload: float = load.OVERLOAD


@dataclass(frozen=True, slots=True)
class Round:
    """One replay; times in milliseconds, goodput as the share of all requests."""

    number: int
    system: str
    goodput_rate: float
    ttft_p50_ms: float
    ttft_p95_ms: float
    tpot_p50_ms: float
    tpot_p95_ms: float
    requests: int
    lost: int
    load_average: float


@dataclass(frozen=True, slots=True)
class Found:
    """What the search on stock alone found, and every round after it."""

    alone: load.Unloaded
    capacity_rps: float
    rate_rps: float
    rounds: tuple[Round, ...]

    def median(self, system: str, figure: str) -> float:
        return statistics.median(
            float(asdict(r)[figure]) for r in self.rounds if r.system == system
        )

    @property
    def ratio(self) -> float | None:
        """Goodput of H-MAS over stock's; None when stock had none."""
        stock, hmas = (self.median(system, "goodput_rate") for system in SYSTEMS)
        return hmas / stock if stock else None

    @property
    def reached(self) -> bool:
        """No request lost, and at least ``TARGET`` times stock's goodput, or any beside none."""
        stock, hmas = (self.median(system, "goodput_rate") for system in SYSTEMS)
        return hmas > 0 and hmas >= TARGET * stock and not self.lost

    @property
    def lost(self) -> int:
        return sum(one.lost for one in self.rounds)


class Experiment:
    """Two running servers and what is sent to them."""

    def __init__(
        self, servers: dict[str, VllmServer], folder: Path, plan: Plan, line: ProgressLine
    ) -> None:
        self._servers = servers
        self._folder = folder
        self._plan = plan
        self._line = line
        self._cores = split_cores()[1]

    def run(self) -> Found:
        """Warm up, search the rate on stock, then the rounds."""
        plan = self._plan
        sample = load.azure_scaled(4.0, 60.0, plan.seed + 1)
        for system in SYSTEMS:
            warm = load.arriving(sample[:WARM_UP], 0.2)
            self._replay(f"warm-up of {system}", self._servers[system].url, warm)
        stock_url = self._servers["stock"].url
        one_by_one = load.arriving(sample[:PROBES], load.SPARSE_S)
        alone = load.unloaded(self._replay("unloaded stock", stock_url, one_by_one))
        burst = self._replay("burst on stock", stock_url, load.arriving(sample[:BURST], 0.0))
        capacity = load.capacity_rps(burst.results)
        rate = plan.overload * capacity
        requests = load.azure_scaled(rate, plan.seconds, plan.seed)
        requests = load.with_slos(requests, load.slo_scale(requests, alone))
        self._line.say(
            f"stock alone: TTFT {alone.ttft_ms:.0f} ms, TPOT {alone.tpot_ms:.1f} ms, capacity"
            f" {capacity:.2f} requests/s; overload {rate:.2f}/s, {len(requests)} requests"
        )
        rounds = [
            self._round(number, system, requests)
            for number in range(1, plan.rounds + 1)
            for system in SYSTEMS
        ]
        return Found(alone, capacity, rate, tuple(rounds))

    def _round(self, number: int, system: str, requests: list[WorkloadRequest]) -> Round:
        name, server = f"round {number}, {system}", self._servers[system]
        if system == "stock":
            report = self._replay(name, server.url, requests)
        else:
            with control_stack(server, self._folder, self._cores) as stack:
                report = self._replay(name, stack.gateway_url, requests, stack.api_key)
        if report.errors:
            self._line.say(f"{name}: {report.errors}")
        told = round_of(number, system, report)
        self._line.say(words(told))
        return told

    def _replay(
        self, name: str, url: str, requests: list[WorkloadRequest], key: str | None = None
    ) -> LiveReport:
        target = LiveTarget(url, MODEL_NAME, api_key=key, seed=self._plan.seed)
        with self._line.run(name) as on_progress:
            return asyncio.run(replay_live(requests, target, on_progress))


def round_of(number: int, system: str, report: LiveReport) -> Round:
    """The figures of one replay."""
    summary = report.summary()
    return Round(
        number=number,
        system=system,
        goodput_rate=summary.goodput_rate,
        ttft_p50_ms=summary.ttft_ms[50],
        ttft_p95_ms=summary.ttft_ms[95],
        tpot_p50_ms=summary.tpot_ms[50],
        tpot_p95_ms=summary.tpot_ms[95],
        requests=summary.requests,
        lost=report.lost,
        load_average=os.getloadavg()[0],
    )


def words(told: Round) -> str:
    """One line that says how a round went."""
    return (
        f"round {told.number} {told.system:5}: goodput {told.goodput_rate:.3f}, TTFT p50"
        f" {told.ttft_p50_ms:.0f} p95 {told.ttft_p95_ms:.0f} ms, TPOT p50 {told.tpot_p50_ms:.1f}"
        f" p95 {told.tpot_p95_ms:.1f} ms, {told.lost} of {told.requests} lost,"
        f" load {told.load_average:.1f}"
    )


def measure(plan: Plan, line: ProgressLine) -> Found:
    """Start both servers, run, stop.

    Raises:
        VllmError, StackError: a process does not come up.
        ValueError: stock alone did not serve what the search needs.
    """
    vllm_core, our_cores = split_cores()
    with ExitStack() as running:
        made = tempfile.TemporaryDirectory(prefix="hmas-ab-", ignore_cleanup_errors=True)
        folder = Path(running.enter_context(made))
        running.enter_context(pinned(our_cores))
        model = write_model(folder / "model", CPU_LLAMA)
        servers = {}
        for system, scheduler in zip(SYSTEMS, (None, SCHEDULER), strict=True):
            line.say(f"starting vLLM for {system}")
            servers[system] = running.enter_context(
                vllm_server(
                    model, folder / system, engine_id=system, scheduler=scheduler,
                    blocks=KV_BLOCKS, max_num_seqs=MAX_NUM_SEQS, flags=FLAGS, cpus=vllm_core,
                )
            )  # fmt: skip
        return Experiment(servers, folder, plan, line).run()


def report(found: Found, plan: Plan, argv: Sequence[str]) -> dict[str, Any]:
    """Everything that was measured, with where and how."""
    figures = ("goodput_rate", "ttft_p50_ms", "ttft_p95_ms", "tpot_p50_ms", "tpot_p95_ms")
    return {
        "command": " ".join(["python -m hmas.bench.vllm_ab", *argv]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.python_version()}",
        "plan": asdict(plan),
        "rules": {
            "length_scale": load.LENGTH_SCALE, "token_budget": load.TOKEN_BUDGET,
            "ttft_slack": load.TTFT_SLACK, "tpot_slack": load.TPOT_SLACK,
        },
        "unloaded_stock": asdict(found.alone),
        "capacity_rps": found.capacity_rps,
        "rate_rps": found.rate_rps,
        "rounds": [asdict(one) for one in found.rounds],
        "medians": {s: {f: found.median(s, f) for f in figures} for s in SYSTEMS},
        "ratio": found.ratio,
        "lost": found.lost,
        "reached": found.reached,
    }  # fmt: skip


def render(outcome: dict[str, Any]) -> str:
    lines = [f"{outcome['command']}", outcome["machine"]]
    lines.append(
        f"overload {outcome['rate_rps']:.2f} requests/s ="
        f" {outcome['plan']['overload']:g} x stock's {outcome['capacity_rps']:.2f}/s"
    )
    lines += [words(Round(**one)) for one in outcome["rounds"]]
    for system in SYSTEMS:
        told = ", ".join(
            f"{name} {value:.3f}" for name, value in outcome["medians"][system].items()
        )
        lines.append(f"median {system:5}: {told}")
    verdict = "reached" if outcome["reached"] else "not reached"
    ratio = outcome["ratio"]
    times = "stock served none in time" if ratio is None else f"goodput {ratio:.2f} x stock's"
    lines.append(f"{times}, {outcome['lost']} lost: target {TARGET:g} x {verdict}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    line = ProgressLine(Console(stderr=True))
    plan = Plan(arguments.rounds, arguments.seconds, arguments.seed, arguments.overload)
    try:
        found = measure(plan, line)
    except (VllmError, StackError, ValueError, OSError) as error:
        line.say(f"vllm_ab: {error}")
        return 1
    outcome = report(found, plan, sys.argv[1:] if argv is None else argv)
    print(json.dumps(outcome) if arguments.json else render(outcome))
    return 0 if outcome["reached"] else 1


def _parser() -> argparse.ArgumentParser:
    plan = Plan()
    parser = argparse.ArgumentParser(prog="python -m hmas.bench.vllm_ab", description=__doc__)
    parser.add_argument("--rounds", type=int, default=plan.rounds)
    parser.add_argument("--seconds", type=float, default=plan.seconds, help="arrivals per round")
    parser.add_argument("--overload", type=float, default=plan.overload, help="times capacity")
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
