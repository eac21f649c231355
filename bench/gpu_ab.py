"""Stock vLLM against vLLM with H-MAS on a GPU: ``python -m hmas.bench.gpu_ab``.

A random model of Qwen3-8B's shape, so nothing has to be downloaded; asynchronous scheduling on;
an Azure-like trace at several rates; stock and H-MAS in turns, each on a fresh server. vLLM runs
in an environment of its own (``HMAS_TEST_VLLM_PYTHON``), 0.24 or later; only its command line
and its HTTP API are used. ``--device cpu --tiny`` tries the script on a CPU build.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from hmas.bench.demo_progress import ProgressLine
from hmas.bench.live import LiveReport, replay_live
from hmas.bench.random_model import QWEN3_8B, QWEN3_TINY, write_model
from hmas.bench.slo import WorkloadRequest
from hmas.bench.stream import LiveTarget
from hmas.bench.vllm_ab import SYSTEMS, Round, round_of, words
from hmas.bench.vllm_ab_load import arriving, azure_scaled
from hmas.bench.vllm_ab_stack import StackError, control_stack
from hmas.bench.vllm_server import MODEL_NAME, SCHEDULER, VllmError, VllmServer, vllm_server

GPU_FLAGS: Final = (
    "--dtype", "bfloat16", "--load-format", "dummy", "--max-model-len", "16384",
    "--async-scheduling", "--no-enable-prefix-caching",
)  # fmt: skip
CPU_FLAGS: Final = (
    "--dtype", "float32", "--load-format", "dummy", "--max-model-len", "4096", "--enforce-eager",
    "--no-enable-prefix-caching",
)  # fmt: skip
GPU_VARIABLES: Final = ("CUDA_VISIBLE_DEVICES", "CUDA_HOME", "LD_LIBRARY_PATH", "HMAS_VLLM_FORCE")
WARM_UP: Final = 32
TINY_BLOCKS: Final = 2000


@dataclass(frozen=True, slots=True)
class Plan:
    """``length_scale`` divides the trace's lengths; SLOs are Table 6's own."""

    rates: tuple[float, ...] = (10.0, 20.0, 30.0)
    seconds: float = 40.0
    rounds: int = 1
    seed: int = 0
    device: str = "gpu"
    tiny: bool = False

    @property
    def length_scale(self) -> int:
        return 8 if self.tiny else 1


@dataclass(frozen=True, slots=True)
class RatedRound:
    rate_rps: float
    result: Round


def measure(plan: Plan, line: ProgressLine) -> list[RatedRound]:
    """All rounds. Raises VllmError or StackError when a process does not come up."""
    done: list[RatedRound] = []
    made = tempfile.TemporaryDirectory(prefix="hmas-gpu-", ignore_cleanup_errors=True)
    with made as name:
        folder = Path(name)
        model = write_model(folder / "model", QWEN3_TINY if plan.tiny else QWEN3_8B)
        for number in range(1, plan.rounds + 1):
            for system in SYSTEMS:
                line.say(f"round {number}: starting vLLM for {system}")
                place = folder / f"{number}-{system}"
                with _server(plan, model, place, system) as server:
                    done += _sweep(plan, server, place, Turn(number, system), line)
    return done


@dataclass(frozen=True, slots=True)
class Turn:
    number: int
    system: str


def _server(plan: Plan, model: Path, folder: Path, system: str) -> Any:
    on_cpu = plan.device == "cpu"
    kept = {name: os.environ[name] for name in GPU_VARIABLES if name in os.environ}
    return vllm_server(
        model, folder, engine_id=system, scheduler=None if system == "stock" else SCHEDULER,
        blocks=TINY_BLOCKS if on_cpu else None, max_num_seqs=64 if on_cpu else None,
        flags=CPU_FLAGS if on_cpu else GPU_FLAGS,
        environ=kept if on_cpu else {"OMP_NUM_THREADS": "4", **kept},
    )  # fmt: skip


def _sweep(
    plan: Plan, server: VllmServer, folder: Path, turn: Turn, line: ProgressLine
) -> list[RatedRound]:
    """Every rate on one server; H-MAS keeps what it learnt from the rates before."""
    cores = tuple(os.sched_getaffinity(0))
    if turn.system == "stock":
        return _rates(plan, LiveTarget(server.url, MODEL_NAME, seed=plan.seed), turn, line)
    with control_stack(server, folder, cores) as stack:
        target = LiveTarget(stack.gateway_url, MODEL_NAME, api_key=stack.api_key, seed=plan.seed)
        return _rates(plan, target, turn, line)


def _rates(plan: Plan, target: LiveTarget, turn: Turn, line: ProgressLine) -> list[RatedRound]:
    warm = azure_scaled(plan.rates[0], plan.seconds, plan.seed + 1, plan.length_scale)
    _replay("warm-up", target, arriving(warm[:WARM_UP], 0.1), line)
    done = []
    for rate in plan.rates:
        requests = azure_scaled(rate, plan.seconds, plan.seed, plan.length_scale)
        report = _replay(f"{turn.system} at {rate:g}/s", target, requests, line)
        done.append(RatedRound(rate, round_of(turn.number, turn.system, report)))
        line.say(f"{rate:g}/s, {words(done[-1].result)} {report.errors or ''}".rstrip())
    return done


def _replay(
    name: str, target: LiveTarget, requests: list[WorkloadRequest], line: ProgressLine
) -> LiveReport:
    with line.run(name) as on_progress:
        return asyncio.run(replay_live(requests, target, on_progress))


def report(done: Sequence[RatedRound], plan: Plan, argv: Sequence[str]) -> dict[str, Any]:
    """Medians over the rounds per rate and system, with where and how."""
    figures = ("goodput_rate", "ttft_p50_ms", "ttft_p95_ms", "tpot_p50_ms", "tpot_p95_ms")
    rows = []
    for rate in plan.rates:
        for system in SYSTEMS:
            here = [
                asdict(d.result) for d in done if (d.rate_rps, d.result.system) == (rate, system)
            ]
            medians = {name: statistics.median(one[name] for one in here) for name in figures}
            lost = sum(one["lost"] for one in here)
            rows.append({"rate_rps": rate, "system": system, **medians, "lost": lost})
    return {
        "command": " ".join(["python -m hmas.bench.gpu_ab", *argv]),
        "machine": machine(),
        "versions": versions(),
        "plan": asdict(plan),
        "rows": rows,
    }


def machine() -> str:
    """GPU and driver where there is one, and the CPU cores."""
    cores = f"{platform.machine()}, {os.cpu_count()} cores"
    found = shutil.which("nvidia-smi")
    if found is None:
        return f"{cores}, no GPU"
    query = [found, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    told = subprocess.run(query, capture_output=True, text=True, check=False)  # noqa: S603
    return f"{cores}, {told.stdout.strip() or 'no GPU'}"


def versions() -> str:
    """vLLM, torch and Python of the environment that served, as that environment says."""
    from hmas.bench.vllm_server import vllm_python

    program = (
        "import platform; from importlib.metadata import version as v;"
        "print('vLLM', v('vllm'), 'torch', v('torch'), 'Python', platform.python_version())"
    )
    command = [str(vllm_python()), "-c", program]
    told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return told.stdout.strip() or told.stderr.strip()[-200:]


def render(outcome: dict[str, Any]) -> str:
    """A Markdown table, ready for a page."""
    lines = [f"`{outcome['command']}`", "", f"{outcome['machine']}; {outcome['versions']}", ""]
    lines.append("| requests/s | system | goodput | TTFT p50 / p95 ms | TPOT p50 / p95 ms | lost |")
    lines.append("|---|---|---|---|---|---|")
    lines += [
        f"| {row['rate_rps']:g} | {row['system']} | {row['goodput_rate']:.3f}"
        f" | {row['ttft_p50_ms']:.0f} / {row['ttft_p95_ms']:.0f}"
        f" | {row['tpot_p50_ms']:.1f} / {row['tpot_p95_ms']:.1f} | {row['lost']} |"
        for row in outcome["rows"]
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    line = ProgressLine(Console(stderr=True))
    plan = replace(Plan(), **{k: v for k, v in vars(arguments).items() if k != "json"})
    try:
        done = measure(plan, line)
    except (VllmError, StackError, OSError) as error:
        line.say(f"gpu_ab: {error}")
        return 1
    outcome = report(done, plan, sys.argv[1:] if argv is None else argv)
    print(json.dumps(outcome) if arguments.json else render(outcome))
    return 1 if any(row["lost"] for row in outcome["rows"]) else 0


def _rates_of(text: str) -> tuple[float, ...]:
    return tuple(float(rate) for rate in text.split(","))


def _parser() -> argparse.ArgumentParser:
    plan = Plan()
    parser = argparse.ArgumentParser(prog="python -m hmas.bench.gpu_ab", description=__doc__)
    parser.add_argument("--device", choices=("gpu", "cpu"), default=plan.device)
    parser.add_argument("--tiny", action="store_true", help="a tiny model and short requests")
    parser.add_argument("--rates", type=_rates_of, default=plan.rates, help="such as 10,20,30")
    parser.add_argument("--seconds", type=float, default=plan.seconds, help="arrivals per rate")
    parser.add_argument("--rounds", type=int, default=plan.rounds)
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
