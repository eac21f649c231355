"""Accuracy on a source that training never saw."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from hmas.bench.corpus.sample import some
from hmas.bench.corpus.split import without_near_duplicates
from hmas.bench.perception.accuracy import accuracy, chain
from hmas.controllers.perception.learned import unpack
from hmas.controllers.perception.training import Sample, train

MOST_TESTED: Final = 600


class LeftOut(NamedTuple):
    """Accuracy of the whole chain on ``prompts`` prompts of ``source``."""

    source: str
    prompts: int
    accuracy: float


def left_out(
    samples: Sequence[Sample], sources: Sequence[str], seed: int, said: Callable[[str], None]
) -> Iterator[LeftOut]:
    """Trains once per source, on all others less near-duplicates of what is tested."""
    for number, source in enumerate(sources, start=1):
        said(f"leaving out {source} ({number} of {len(sources)})")
        own = [sample for sample in samples if sample.source == source]
        rng = random.Random(f"left out {seed}")  # noqa: S311
        tested = some(own, MOST_TESTED, rng)
        others = [sample for sample in samples if sample.source != source]
        model = unpack(train(without_near_duplicates(others, tested), seed))
        yield LeftOut(source, len(tested), accuracy(tested, chain(model)).overall)
