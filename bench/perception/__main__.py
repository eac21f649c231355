"""``python -m hmas.bench.perception``: how well and how fast perception names the task."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from hmas.bench.corpus.split import balanced
from hmas.bench.paper.document import Origin
from hmas.bench.perception.accuracy import accuracy, alone, chain
from hmas.bench.perception.left_out import left_out
from hmas.bench.perception.outcome import Outcome, document, printed, report
from hmas.bench.perception.speed import measure
from hmas.bench.perception.train import DATA, SEED, task_split
from hmas.controllers.perception.learned import ModelFileError, TaskModel, load, unpack
from hmas.controllers.perception.training import Sample, data_hash, train
from hmas.engine.clock import SystemClock

DONE, FAILED = 0, 1
PROMPTS_FOR_SPEED: Final = 60
"""Of each source."""

Said = Callable[[str], None]


def parser() -> argparse.ArgumentParser:
    """All options."""
    made = argparse.ArgumentParser(
        prog="python -m hmas.bench.perception",
        description="Task types: accuracy on held-out prompts and left-out sources, and speed.",
    )
    made.add_argument("--data", type=Path, default=DATA, metavar="FOLDER")
    made.add_argument("--seed", type=int, default=SEED, help="of the split (default: %(default)s)")
    made.add_argument("--json", action="store_true", help="one JSON object on standard output")
    made.add_argument("--json-file", type=Path, metavar="PATH", help="the same object in a file")
    made.add_argument("--html", type=Path, metavar="PATH", help="a self-contained report")
    made.add_argument("--seconds", type=float, default=12.0, help="of the paced speed run")
    made.add_argument("--quick", action="store_true", help="without the left-out sources")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 failed (the reason goes to standard error)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    console = Console(stderr=True)
    command = shlex.join(["python", "-m", "hmas.bench.perception", *given])
    try:
        outcome = run(options, lambda text: console.print(text, markup=False), command)
    except (OSError, ImportError, ValueError) as error:
        console.print(f"bench perception: {error}", markup=False)
        return FAILED
    made = document(outcome)
    for path, text in (
        (options.json_file, json.dumps(made, indent=1) + "\n"),
        (options.html, report(outcome)),
    ):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    sys.stdout.write(json.dumps(made) + "\n" if options.json else printed(outcome))
    return DONE


def run(options: argparse.Namespace, said: Said, command: str) -> Outcome:
    """Everything that is measured; progress goes to ``said``."""
    clock = SystemClock()
    begun_s = clock.now_s()
    said("reading prompts, removing near-duplicates")
    parts = task_split(options.data, options.seed)
    model, which = _model(parts.train, options.seed, said)
    said(f"measuring speed for {options.seconds:g} s")
    speed = measure(balanced(parts.test, PROMPTS_FOR_SPEED, options.seed), options.seconds)
    everything = [*parts.train, *parts.test]
    sources = [] if options.quick else sorted({sample.source for sample in everything})
    return Outcome(
        origin=Origin(command, clock.now_s(), clock.now_s() - begun_s),
        seed=options.seed,
        model=which,
        removed=parts.removed,
        trained_on=len(parts.train),
        chain=accuracy(parts.test, chain(model)),
        alone=accuracy(parts.test, alone(model)),
        rules=accuracy(parts.test, chain(None)),
        left_out=tuple(left_out(everything, sources, options.seed, said)),
        speed=speed,
    )


def _model(samples: Sequence[Sample], seed: int, said: Said) -> tuple[TaskModel, str]:
    """The shipped model if these samples trained it, else one that they train."""
    try:
        shipped = load()
        if shipped.card.data_hash == data_hash(samples):
            return shipped, "shipped"
    except ModelFileError as error:
        said(str(error))
    said("training: the shipped model was not trained on this split")
    return unpack(train(samples, seed)), "trained for this run"


if __name__ == "__main__":
    raise SystemExit(main())
