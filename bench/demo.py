"""``make demo``: the main job on this machine, without GPU and Docker.

Starts a simulated engine, the gateway, the daemon and the console, replays the same requests
through the gateway twice, plain FCFS and H-MAS, and prints what each achieved.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from hmas.bench.demo_progress import ProgressLine
from hmas.bench.demo_run import DemoControl, DemoError, DemoResult, DemoRunner
from hmas.bench.demo_stack import META_S, DemoSystem, running_system
from hmas.bench.demo_table import Origin, comparison, to_json
from hmas.bench.speed import compressed
from hmas.bench.stream import LiveTarget
from hmas.bench.workload import Workload, WorkloadOptions, build_workload
from hmas.daemon.cli.client import AdminError
from hmas.daemon.supervise.supervisor import StartError
from hmas.engine.clock import SystemClock
from hmas.engine.simulator.profile import load_profile

DONE, FAILED, WRONG_USAGE = 0, 1, 2
DEFAULT_RPS = 7.0
DEFAULT_DURATION_S = 45.0
DEFAULT_PROFILE = "a100-qwen3-8b"


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What to show."""

    workload: WorkloadOptions
    profile: str = DEFAULT_PROFILE
    speed: float = 1.0
    stay: bool = False
    as_json: bool = False


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m hmas.bench.demo",
        description="Replay an Azure-like workload through the gateway twice: plain FCFS, H-MAS.",
    )
    made.add_argument("--stay", action="store_true", help="keep all running until Ctrl-C")
    made.add_argument(
        "--trace", type=Path, action="append", default=[], metavar="FILE",
        help="Azure CSV, Mooncake JSONL or BurstGPT CSV instead of the generated workload; "
        "give it again to mix",
    )  # fmt: skip
    made.add_argument(
        "--duration", type=float, default=DEFAULT_DURATION_S, metavar="S",
        help="seconds of arrivals per run (default: %(default)g)",
    )  # fmt: skip
    made.add_argument(
        "--rps", type=float, default=DEFAULT_RPS, help="mean rate (default: %(default)g)"
    )
    made.add_argument(
        "--profile", default=DEFAULT_PROFILE, help="simulated engine (default: %(default)s)"
    )
    made.add_argument(
        "--speed", type=float, default=1.0, metavar="X",
        help="compress time: engine, arrivals and targets X times faster (default: 1)",
    )  # fmt: skip
    made.add_argument("--seed", type=int, default=0, help="of the workload (default: 0)")
    made.add_argument("--json", action="store_true", help="print one JSON object at the end")
    return made


def options_from(arguments: argparse.Namespace) -> DemoOptions:
    return DemoOptions(
        workload=WorkloadOptions(
            traces=tuple(arguments.trace),
            rps=arguments.rps,
            duration_s=arguments.duration,
            seed=arguments.seed,
        ),
        profile=arguments.profile,
        speed=arguments.speed,
        stay=arguments.stay,
        as_json=arguments.json,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 something did not work, 2 wrong usage."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = options_from(parser().parse_args(given))
    console = Console(stderr=True, highlight=False)
    try:
        load_profile(options.profile)
        workload = build_workload(options.workload)
        compressed(workload.requests, options.speed)
    except ValueError as error:
        console.print(f"demo: {error}", markup=False)
        return WRONG_USAGE
    try:
        asyncio.run(_demo(options, workload, Origin.of(given, SystemClock().now_s(), _cores())))
    except (StartError, DemoError, AdminError) as error:
        console.print(f"demo: {error}", markup=False)
        return FAILED
    except (KeyboardInterrupt, asyncio.CancelledError):
        return FAILED
    return DONE


def _cores() -> int:
    return len(os.sched_getaffinity(0))


async def _demo(options: DemoOptions, workload: Workload, origin: Origin) -> None:
    progress = ProgressLine(Console(stderr=True, highlight=False))
    progress.say(describe(options, workload))
    with tempfile.TemporaryDirectory(prefix="hmas-demo-") as folder:
        async with running_system(
            Path(folder), options.profile, options.speed, progress.child
        ) as system:
            progress.say(f"console: {system.console_url}   gateway: {system.gateway_url}/v1")
            results = await _runs(options, workload, system, progress)
            stop = _stop_event() if options.stay else None
            _show(options, workload, results, system, origin)
            if stop is not None:
                progress.say(system.invitation)
                await system.supervisor.run_until(stop)


def describe(options: DemoOptions, workload: Workload) -> str:
    """What is replayed, on what, in one paragraph."""
    speed = "" if options.speed == 1 else f", time compressed {options.speed:g} times"
    return (
        f"{len(workload.requests)} requests in {workload.span_s:g} s "
        f"({workload.rps:.3g}/s), {workload.source}; lengths {workload.lengths}; "
        f"engine: simulator {options.profile}{speed}; "
        f"meta-controller: rules, every {META_S:g} s"
    )


async def _runs(
    options: DemoOptions, workload: Workload, system: DemoSystem, progress: ProgressLine
) -> list[DemoResult]:
    target = LiveTarget(
        base_url=system.gateway_url,
        model=load_profile(options.profile).model,
        api_key=system.api_key,
        seed=options.workload.seed,
        simulated=True,
    )
    requests = compressed(workload.requests, options.speed)
    admin = system.admin()
    runner = DemoRunner(admin, target, system.engine_id, SystemClock())
    try:
        await runner.wait_for(lambda _: True, "come under control")
        results = []
        for control in DemoControl:
            with progress.run(control.value) as on_progress:
                result = await runner.run(control, requests, on_progress)
            for reason, count in result.live.errors.items():
                progress.say(f"{control.value}: {count} x {reason}")
            results.append(result.stretched(options.speed))
        return results
    finally:
        admin.close()


def _show(
    options: DemoOptions,
    workload: Workload,
    results: Sequence[DemoResult],
    system: DemoSystem,
    origin: Origin,
) -> None:
    if options.as_json:
        facts: dict[str, object] = {
            "trace": workload.source,
            "rps": workload.rps,
            "arrivals_s": workload.span_s,
            "lengths": workload.lengths,
            "profile": options.profile,
            "speed": options.speed,
            "seed": options.workload.seed,
            "console": system.console_url,
            "gateway": f"{system.gateway_url}/v1",
        }
        sys.stdout.write(to_json(results, origin, facts) + "\n")
        sys.stdout.flush()
        return
    console = Console(highlight=False)
    title = f"{len(workload.requests)} requests, {workload.rps:.3g}/s, {options.profile}"
    console.print(comparison(results, title))
    console.print(f"console: {system.console_url}")
    console.print(origin.line(), markup=False, soft_wrap=True)


def _stop_event() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


if __name__ == "__main__":
    sys.exit(main())
