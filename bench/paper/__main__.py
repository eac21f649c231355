"""``hmas bench paper``: runs the paper's experiments in virtual time, on all cores."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hmas.bench.html_report import shown
from hmas.bench.paper.document import Document, Origin, document
from hmas.bench.paper.evidence import Evidence
from hmas.bench.paper.jobs import Job, JobResult, run_all
from hmas.bench.paper.numbers import TABLE_1
from hmas.bench.paper.page import flat_rows, report, summary_rows
from hmas.bench.paper.pictures import draw
from hmas.bench.paper.plan import (
    FIGURES,
    TABLES,
    Effort,
    Selection,
    coarse_jobs,
    finalists,
    jobs,
    wanted,
)
from hmas.bench.paper.search import find_rate
from hmas.bench.scenarios.base import Scenario
from hmas.bench.scenarios.catalogue import shortened, slice_at
from hmas.engine.clock import SystemClock

DONE, FAILED, WRONG_USAGE = 0, 1, 2
DEFAULT_SEEDS, QUICK_SEEDS = 5, 2
QUICK_SHARE = 0.25
PIPE_WIDTH = 160
SEARCHED_RPS = (6.0, 30.0)
DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

Runner = Callable[[Sequence[Job], str], list[JobResult]]


def parser() -> argparse.ArgumentParser:
    """All options of ``hmas bench paper``."""
    made = argparse.ArgumentParser(
        prog="hmas bench paper",
        description="The paper's tables and figures in virtual time, its numbers beside ours. "
        "Without a selection, everything.",
    )
    made.add_argument("--table", type=int, choices=TABLES, action="append", default=[])
    made.add_argument("--figure", type=int, choices=FIGURES, action="append", default=[])
    made.add_argument("--json", action="store_true", help="one JSON object on standard output")
    made.add_argument("--json-file", type=Path, metavar="PATH", help="the same object in a file")
    made.add_argument("--html", type=Path, metavar="PATH", help="a self-contained report")
    made.add_argument("--pictures", type=Path, metavar="FOLDER", help="two SVG for a README")
    made.add_argument("--seeds", type=int, help=f"default {DEFAULT_SEEDS}, quick {QUICK_SEEDS}")
    made.add_argument("--quick", action="store_true", help="a quarter of each workload")
    made.add_argument(
        "--share", type=float, metavar="F", help="share of each workload's duration (default: 1)"
    )
    made.add_argument(
        "--data",
        type=Path,
        default=DATA,
        metavar="FOLDER",
        help="trace folder; fitted statistics where it is absent (default: %(default)s)",
    )
    made.add_argument(
        "--find-loads",
        action="store_true",
        help="only search, on stock alone, the loads of the Table 1 slices, and print them",
    )
    made.add_argument("--workers", type=int, help="processes (default: one per core)")
    return made


def effort_from(options: argparse.Namespace) -> Effort:
    """Raises :class:`ValueError` for a number of seeds or workers, or a share, that cannot be."""
    seeds = options.seeds or (QUICK_SEEDS if options.quick else DEFAULT_SEEDS)
    if options.seeds is not None and options.seeds < 1:
        raise ValueError(f"seeds must be at least 1, not {options.seeds}")
    if options.workers is not None and options.workers < 1:
        raise ValueError(f"workers must be at least 1, not {options.workers}")
    share = options.share if options.share is not None else QUICK_SHARE if options.quick else 1.0
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, not {share}")
    return Effort(seeds, share, options.data if options.data.is_dir() else None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 failed, 2 wrong usage (the reason goes to standard error)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    try:
        effort = effort_from(options)
        if options.find_loads:
            return _find_loads(effort)
        made, evidence = measure(options, effort, shlex.join(["hmas", "bench", "paper", *given]))
        _write(options, made, evidence)
    except ValueError as error:
        sys.stderr.write(f"hmas bench paper: {error}\n")
        return WRONG_USAGE
    except (OSError, ImportError) as error:
        sys.stderr.write(f"hmas bench paper: {error}\n")
        return FAILED
    if options.json:
        sys.stdout.write(json.dumps(made) + "\n")
    else:
        _print(made)
    return DONE


def _find_loads(effort: Effort) -> int:
    for name, (paper_stock, _) in TABLE_1.items():

        def at(rps: float, name: str = name) -> Scenario:
            return shortened(slice_at(name, rps), effort.factor)

        compliance = paper_stock.ttft_compliance
        rps = find_rate(at, compliance, SEARCHED_RPS, seeds=effort.seeds, data=effort.data)
        sys.stdout.write(f"{name}: {rps:g} requests/s for {compliance:.2%} of stock's TTFT\n")
    return DONE


def measure(options: argparse.Namespace, effort: Effort, command: str) -> tuple[Document, Evidence]:
    """Runs what the selection needs; nothing is kept between two invocations."""
    clock = SystemClock()
    begun_s = clock.now_s()
    selection = Selection(frozenset(options.table), frozenset(options.figure))
    systems = wanted(selection)
    with _runner(options.workers) as run:
        if selection.everything:
            tuned = finalists(run(coarse_jobs(effort), "every static pair, briefly"))
            for name, pairs in tuned.items():
                systems[name] += [one for one in pairs if one not in systems[name]]
        planned = jobs(systems, effort, bounded=selection.everything)
        evidence = Evidence(zip(planned, run(planned, "all systems, all seeds"), strict=True))
    origin = Origin(command, clock.now_s(), clock.now_s() - begun_s)
    return document(evidence, effort, origin), evidence


@contextmanager
def _runner(workers: int | None) -> Iterator[Runner]:
    """Runs jobs behind a progress bar on standard error."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:

        def run(planned: Sequence[Job], words: str) -> list[JobResult]:
            task = bar.add_task(words, total=len(planned))
            return run_all(planned, lambda: bar.advance(task), workers)

        yield run


def _write(options: argparse.Namespace, made: Document, evidence: Evidence) -> None:
    if options.json_file is not None:
        options.json_file.parent.mkdir(parents=True, exist_ok=True)
        options.json_file.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    if options.html is not None:
        options.html.parent.mkdir(parents=True, exist_ok=True)
        options.html.write_text(report(made, evidence), encoding="utf-8")
    if options.pictures is not None:
        draw(evidence, options.pictures)


def _print(made: Document) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE_WIDTH)
    for key in ("command", "commit", "date", "machine", "data", "lengths"):
        console.print(f"{key}: {made[key]}", highlight=False)
    console.print(_table("Goodput rate by workload and system", summary_rows(made)))
    for number in TABLES:
        rows = flat_rows(made, str(number))
        if rows:
            console.print(_table(f"Table {number}: the paper's numbers and ours", rows))
    targets = made["targets"]
    if isinstance(targets, list):
        measured = [row for row in targets if row["verdict"] != "not measured"]
        console.print(_table("Targets", measured))


def _table(title: str, rows: Sequence[dict[str, object]]) -> Table:
    made = Table(title=title, title_justify="left")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*[shown(row.get(column)) for column in columns])
    return made


if __name__ == "__main__":
    raise SystemExit(main())
