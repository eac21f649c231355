"""``python -m hmas.bench.corpus_lengths``: trains the shipped length model and writes its card."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hmas.bench.corpus_lengths.model_card import model_card
from hmas.bench.corpus_lengths.sample import MissingSetError
from hmas.bench.corpus_lengths.training import train_length_model
from hmas.controllers.prediction.length_model import decode_model
from hmas.controllers.prediction.shipped import SHIPPED

DATA: Final = Path(__file__).resolve().parents[2].parent / "shared" / "data"
DONE, FAILED = 0, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code: 0 written, 1 failed (the reason goes to standard error)."""
    made = argparse.ArgumentParser(prog="python -m hmas.bench.corpus_lengths")
    made.add_argument("--data", type=Path, default=DATA, metavar="FOLDER")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--out", type=Path, default=SHIPPED, metavar="PATH")
    options = made.parse_args(arguments)
    try:
        encoded, report = train_length_model(options.data, options.seed)
        write(options.out, encoded)
    except (MissingSetError, ImportError, OSError) as error:
        sys.stderr.write(f"python -m hmas.bench.corpus_lengths: {error}\n")
        return FAILED
    for name, metrics in report.items():
        sys.stdout.write(f"{name}: {metrics}\n")
    return DONE


def write(path: Path, encoded: bytes) -> None:
    """The model, and beside it its card."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded)
    card = model_card(decode_model(encoded).record, len(encoded))
    path.with_suffix(".md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
