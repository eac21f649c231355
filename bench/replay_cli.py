"""Command line of ``hmas replay``, also ``python -m hmas.bench.replay_cli``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hmas.bench.control import parse_control
from hmas.bench.lengths import LengthKnowledge
from hmas.bench.replay import OnProgress, ReplayConfig, ReplayProgress, run_replay
from hmas.bench.report import ReplayReport
from hmas.bench.workload import DEFAULT_DURATION_S, DEFAULT_RPS, WorkloadOptions
from hmas.engine.simulator.profile import profile_names

DONE, WRONG_USAGE = 0, 2

EPILOG = """\
examples:
  hmas replay --rps 6 --duration 300 --control hmas
  hmas replay --trace conv.csv --trace code.csv --rps 7 --duration 600 \\
      --control static:edf:512 --lengths true --json
"""


def parser() -> argparse.ArgumentParser:
    """All options of ``hmas replay``."""
    made = argparse.ArgumentParser(
        prog="hmas replay",
        description="Replay a workload through a simulated engine in virtual time.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--trace",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="Azure CSV, Mooncake JSONL or BurstGPT CSV; give it again to mix (default: an "
        "Azure-like generated workload)",
    )
    made.add_argument(
        "--profile",
        default="a100-qwen3-8b",
        help=f"engine: {', '.join(profile_names())}, or a profile file (default: %(default)s)",
    )
    made.add_argument(
        "--rps",
        type=float,
        help="rescale time to this mean rate (default: the trace's own pace; generated: "
        f"{DEFAULT_RPS:g})",
    )
    made.add_argument(
        "--duration",
        type=float,
        metavar="S",
        help="seconds to replay; a shorter trace starts again (default: the whole trace; "
        f"generated: {DEFAULT_DURATION_S:g})",
    )
    made.add_argument(
        "--control",
        default="stock",
        help="stock, hmas or static:TOPOLOGY:TOKEN_BUDGET (default: %(default)s)",
    )
    made.add_argument(
        "--lengths",
        choices=[knowledge.value for knowledge in LengthKnowledge],
        default=LengthKnowledge.PREDICTED.value,
        help="what the scheduler knows of output lengths (default: %(default)s)",
    )
    made.add_argument("--seed", type=int, default=0, help="of every random draw (default: 0)")
    made.add_argument("--series", type=float, metavar="S", help="add figures per S seconds")
    made.add_argument("--json", action="store_true", help="one JSON object on standard output")
    made.add_argument("--quiet", action="store_true", help="no progress on standard error")
    return made


def config_from(options: argparse.Namespace) -> ReplayConfig:
    """Raises :class:`ValueError` for a control, seed or width that cannot be."""
    if options.seed < 0:
        raise ValueError(f"seed must not be negative, not {options.seed}")
    if options.series is not None and options.series <= 0:
        raise ValueError(f"series must be a positive number of seconds, not {options.series}")
    return ReplayConfig(
        workload=WorkloadOptions(
            traces=tuple(options.trace),
            rps=options.rps,
            duration_s=options.duration,
            lengths=LengthKnowledge(options.lengths),
            seed=options.seed,
        ),
        profile=options.profile,
        control=parse_control(options.control),
        series_s=options.series,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 2 wrong usage (the reason goes to standard error)."""
    options = parser().parse_args(arguments)
    try:
        config = config_from(options)
        with _progress(shown=not (options.json or options.quiet)) as on_progress:
            report = run_replay(config, on_progress)
    except ValueError as error:
        sys.stderr.write(f"hmas replay: {error}\n")
        return WRONG_USAGE
    if options.json:
        sys.stdout.write(report.to_json() + "\n")
    else:
        Console().print(table(report))
    return DONE


def table(report: ReplayReport) -> Table:
    """All scalar figures of a report."""
    made = Table(title=f"{report.control} on {report.profile}", title_justify="left")
    made.add_column("figure")
    made.add_column("value", justify="right")
    for key, value in report.as_dict().items():
        if isinstance(value, float):
            made.add_row(key, f"{value:,.3f}")
        elif isinstance(value, int | str):
            made.add_row(key, str(value))
    return made


@contextmanager
def _progress(*, shown: bool) -> Iterator[OnProgress | None]:
    if not shown:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} requests"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replaying", total=1)

        def update(progress: ReplayProgress) -> None:
            described = f"replaying, {progress.now_s:.0f} of {progress.span_s:.0f} s"
            bar.update(
                task, total=progress.requests, completed=progress.done, description=described
            )

        yield update


if __name__ == "__main__":
    sys.exit(main())
