"""From the data folder to the shipped model: ``python -m hmas.bench.perception.train``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hmas.bench.corpus.split import Split, split
from hmas.bench.corpus.tasks import load_tasks
from hmas.bench.perception.accuracy import accuracy, alone, chain
from hmas.bench.perception.card import model_card
from hmas.controllers.perception.learned import SHIPPED, TaskModel, unpack, with_metrics
from hmas.controllers.perception.training import train

DATA: Final = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SEED: Final = 0
"""The split that the shipped model was trained on."""


def task_split(data: Path, seed: int = SEED) -> Split:
    """Training and test prompts of all sources."""
    return split(load_tasks(data, seed), seed)


def train_task_model(data: Path, seed: int = SEED) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a model file, and its held-out accuracy; the same again for the same seed.

    Raises:
        FileNotFoundError: the data folder lacks a source.
    """
    parts = task_split(data, seed)
    content = train(parts.train, seed)
    measured = _measured(unpack(content), parts)
    content = with_metrics(content, measured)
    return content, {
        "trained_on": len(parts.train),
        "tested_on": len(parts.test),
        "near_duplicates_removed": parts.removed,
        "bytes": len(content),
        **measured,
    }


def _measured(model: TaskModel, parts: Split) -> dict[str, float]:
    of_chain = accuracy(parts.test, chain(model))
    of_model = accuracy(parts.test, alone(model))
    return {
        "chain_source_balanced": round(of_chain.source_balanced, 4),
        "chain_overall": round(of_chain.overall, 4),
        "model_source_balanced": round(of_model.source_balanced, 4),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, writes the model and its card beside it, prints the report."""
    parser = argparse.ArgumentParser(prog="python -m hmas.bench.perception.train")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, default=SHIPPED, metavar="PATH")
    options = parser.parse_args(arguments)
    content, report = train_task_model(options.data, options.seed)
    options.out.write_bytes(content)
    options.out.with_suffix(".md").write_text(model_card(content, report), encoding="utf-8")
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
