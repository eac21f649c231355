"""Commands that hand over to the bench: each has its own options, seen with ``--help``."""

from __future__ import annotations

import runpy
import sys
from typing import Annotated

import typer

from hmas.daemon.cli.exits import Exit, fail

BENCHES = {
    "gateway": "added latency and requests/s through the gateway",
    "overhead": "schedule() with and without the plug-in (in a vLLM environment)",
    "masking": "latency before dispatch while perception is made slow on purpose",
    "topologies": "one operation, a swap and the memory of each topology",
    "paper": "the paper's tables and figures in virtual time, its numbers beside ours",
    "fit": "a step-time profile, of a known GPU or of your own engine (live NAME)",
    "fidelity": "simulator against a real vLLM and published runs",
    "vllm_ab": "the same trace against a real CPU vLLM, stock and with H-MAS",
    "gpu_ab": "stock vLLM against H-MAS on a GPU",
    "demo": "plain FCFS against H-MAS on the simulator",
}


def replay(context: typer.Context) -> None:
    """Replay a workload through a simulated engine in virtual time: same seed, same bytes.

    Example: hmas replay --rps 6 --duration 300 --control hmas --json
    """
    from hmas.bench.replay_cli import main

    raise typer.Exit(main(context.args))


def bench(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="|".join(BENCHES))],
) -> None:
    """Run one of the benchmarks.

    Example: hmas bench gateway --seconds 10
    """
    if name not in BENCHES:
        listed = "; ".join(f"{known}: {what}" for known, what in BENCHES.items())
        fail(f"there is no benchmark {name!r}", Exit.USAGE, fix=listed)
    sys.argv = [f"hmas bench {name}", *context.args]
    runpy.run_module(f"hmas.bench.{name}", run_name="__main__", alter_sys=True)
