"""``python -m hmas.bench.prediction``: the length table and the cost table of this machine."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from hmas.bench.corpus_lengths.catalogue import load
from hmas.bench.html_report import Section, page, shown
from hmas.bench.paper.document import Origin
from hmas.bench.prediction.cost_speed import measure_cost_speed
from hmas.bench.prediction.lengths import Row, measure
from hmas.bench.prediction.shifts import measure_shifts
from hmas.bench.prediction.speed import measure_speed
from hmas.controllers.prediction.cost_model import read_cost_model
from hmas.controllers.prediction.shipped import read_model
from hmas.engine.clock import SystemClock

DONE, FAILED = 0, 1
PIPE_WIDTH: Final = 200
DATA: Final = Path(__file__).resolve().parents[2].parent / "shared" / "data"

LENGTH_WORDS: Final = (
    "Tokens; each request is predicted before its truth is learned. The predictor has seen the "
    "set's 'warm' tenth, the baselines its training and warm rows, and all go on learning. "
    "'mixed' baselines are fitted to all sets together, 'own' ones to this set alone. The "
    "verdict asks for MAE 30 % below the regression on prompt length and 15 % below the task "
    "mean; that of coverage for 90 % within two points, overall and in each bucket with at "
    "least 200 requests. Without text, a set says nothing but lengths."
)
SHIFT_WORDS: Final = (
    "Coverage of the 90 % bound when the mix changes at once and every tenant is new: before, "
    "in the 500 requests after it, and from the 500th on (overall and per bucket)."
)
SPEED_WORDS: Final = "Microseconds of processor time, after 500 requests of warming up."
COST_WORDS: Final = "R2 on LLM-Pilot, beside the paper's."
COST_SPEED_WORDS: Final = (
    "Microseconds of processor time with up to 60 in flight, after 2,000 requests of warming up."
)
SHOWN: Final = (
    "set",
    "rows",
    "mae",
    "mae_history",
    "median_ape",
    "r2_log",
    "kendall_tau",
    "pinball_90",
    "coverage_90",
    "coverage_verdict",
    "below_mixed_regression",
    "below_mixed_task_mean",
    "mixed_verdict",
    "below_own_regression",
    "below_own_task_mean",
    "own_verdict",
)

Say = Callable[[str], None]
Document = dict[str, object]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m hmas.bench.prediction",
        description="How good the predictions of lengths and costs are, on public sets.",
    )
    made.add_argument("--only", choices=("lengths", "costs"), help="one of the two tables")
    made.add_argument("--data", type=Path, default=DATA, metavar="FOLDER")
    made.add_argument("--model", type=Path, metavar="PATH", help="default: the shipped one")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--json", action="store_true", help="one JSON object on standard output")
    made.add_argument("--json-file", type=Path, metavar="PATH", help="the same object in a file")
    made.add_argument("--html", type=Path, metavar="PATH", help="a self-contained report")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 failed (the reason goes to standard error)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    clock = SystemClock()
    begun_s = clock.now_s()
    try:
        tables = measured(options, _say)
    except (OSError, ImportError, ValueError) as error:
        sys.stderr.write(f"python -m hmas.bench.prediction: {error}\n")
        return FAILED
    command = shlex.join(["python", "-m", "hmas.bench.prediction", *given])
    origin = Origin(command, clock.now_s(), clock.now_s() - begun_s)
    made: Document = origin.as_dict() | {"seed": options.seed} | tables
    _write(options, made)
    return DONE


def measured(options: argparse.Namespace, say: Say) -> dict[str, list[Row]]:
    """The tables that were asked for.

    Raises:
        OSError: the data or the model cannot be read.
        ImportError: an extra is not installed.
        ValueError: the model is damaged, or no set has prompts.
    """
    if not options.data.is_dir():
        raise FileNotFoundError(f"{options.data} is no folder; give --data")
    tables: dict[str, list[Row]] = {}
    if options.only != "costs":
        sets, model = load(options.data), read_model(options.model)
        tables["lengths"] = measure(sets, options.seed, model, say)
        say("shifts of the mix")
        tables["shifts"] = measure_shifts(sets, options.seed, model)
        say("speed")
        tables["speed"] = [measure_speed(sets, options.seed, model)]
    if options.only != "lengths":
        costs = import_module("hmas.bench.prediction.costs")
        tables["costs"] = costs.measure(options.data, options.seed, say)
        tables["cost_speed"] = measure_cost_speed(read_cost_model(), options.seed)
    return tables


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _write(options: argparse.Namespace, made: Document) -> None:
    encoded = json.dumps(made, indent=1)
    if options.json_file is not None:
        options.json_file.parent.mkdir(parents=True, exist_ok=True)
        options.json_file.write_text(encoded + "\n", encoding="utf-8")
    if options.html is not None:
        options.html.parent.mkdir(parents=True, exist_ok=True)
        options.html.write_text(report(made), encoding="utf-8")
    if options.json:
        sys.stdout.write(encoded + "\n")
    else:
        _print(made)


def sections(made: Document) -> list[Section]:
    """Every table that was measured, with its words."""
    titles = (
        ("lengths", "Output lengths", LENGTH_WORDS),
        ("shifts", "The bound after a shift of the mix", SHIFT_WORDS),
        ("speed", "What one prediction costs", SPEED_WORDS),
        ("costs", "Costs", COST_WORDS),
        ("cost_speed", "What a price costs before dispatch, by who says it", COST_SPEED_WORDS),
    )
    found = []
    for key, title, words in titles:
        rows = made.get(key)
        if isinstance(rows, list):
            found.append(Section(title, words, rows))
    return found


def report(made: Document) -> str:
    origin = "; ".join(f"{key}: {made[key]}" for key in ("command", "commit", "date", "machine"))
    return page("H-MAS: predictions", origin, sections(made))


def _print(made: Document) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE_WIDTH)
    for key in ("command", "commit", "date", "machine", "seed"):
        console.print(f"{key}: {made[key]}", highlight=False)
    for section in sections(made):
        console.print(section.words, highlight=False)
        console.print(_table(section))


def _table(section: Section) -> Table:
    columns = list(dict.fromkeys(key for row in section.table for key in row))
    if "set" in columns:
        columns = list(SHOWN)
    made = Table(title=section.title, title_justify="left")
    for column in columns:
        made.add_column(column.replace("_", " "), overflow="fold")
    for row in section.table:
        made.add_row(*[shown(row.get(column)) for column in columns])
    return made


if __name__ == "__main__":
    raise SystemExit(main())
