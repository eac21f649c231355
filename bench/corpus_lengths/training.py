"""Trains the shipped length model on the public sets: ``train_length_model``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hmas.bench.corpus_lengths.catalogue import load
from hmas.bench.corpus_lengths.sample import MissingSetError, Part, Sample
from hmas.controllers.prediction.length_training import Example, fit_length_model

LICENCE: Final = "Apache-2.0; trained on sets under MIT, Apache-2.0, CC-BY-4.0 (see length.md)"


def example(sample: Sample) -> Example:
    return Example(
        source=sample.source,
        question=sample.question(),
        output_tokens=sample.output_tokens,
        held_out=sample.part is Part.TEST,
        called_tool=sample.called_tool,
    )


def examples(sets: Iterable[list[Sample]]) -> list[Example]:
    """Rows to train on and to test on; those of ``Part.WARM`` are kept for neither."""
    return [
        example(sample) for samples in sets for sample in samples if sample.part is not Part.WARM
    ]


def train_length_model(data: Path, seed: int = 0) -> tuple[bytes, dict[str, dict[str, float]]]:
    """A model file and its held-out metrics per source; the same seed gives the same bytes.

    Raises:
        MissingSetError: no set is there.
    """
    sets = load(data, proxy=False)
    if not sets:
        raise MissingSetError(f"{data} holds none of the sets with output lengths")
    return fit_length_model(examples(sets.values()), seed, licence=LICENCE)
