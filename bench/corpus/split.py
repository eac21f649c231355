"""Training and test prompts that are not near-duplicates of each other."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hmas.bench.corpus.sample import some
from hmas.controllers.perception.training import Sample

TEST_SHARE: Final = 0.2
SIMILARITY: Final = 0.7
"""Jaccard similarity of word triples from which two prompts are near-duplicates."""
PERMUTATIONS: Final = 64
_WORD: Final = re.compile(r"\w+")


class Split(NamedTuple):
    """``removed``: training prompts dropped as near-duplicates of a test prompt."""

    train: list[Sample]
    test: list[Sample]
    removed: int


def split(samples: Sequence[Sample], seed: int) -> Split:
    """Within each source a fifth of its groups is held out, then MinHash cleans the rest."""
    rng = random.Random(f"split {seed}")  # noqa: S311
    train, test = [], []
    for name in sorted({sample.source for sample in samples}):
        own = [sample for sample in samples if sample.source == name]
        groups = sorted({_group(sample) for sample in own})
        held = set(rng.sample(groups, max(1, int(len(groups) * TEST_SHARE))))
        test += [sample for sample in own if _group(sample) in held]
        train += [sample for sample in own if _group(sample) not in held]
    kept = without_near_duplicates(train, test)
    return Split(kept, test, len(train) - len(kept))


def _group(sample: Sample) -> str:
    return sample.group or sample.prompt.text


def grouped(samples: Sequence[Sample]) -> list[Sample]:
    """Prompts that are near-duplicates of each other, also by way of others, in one group."""
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS)
    leader = list(range(len(samples)))

    def lead(number: int) -> int:
        while leader[number] != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    for number, found in enumerate(_hashes(samples)):
        for other in index.query(found):
            leader[lead(int(other))] = lead(number)
        index.insert(str(number), found)
    return [one._replace(group=samples[lead(n)].prompt.text) for n, one in enumerate(samples)]


def without_near_duplicates(samples: Sequence[Sample], of: Sequence[Sample]) -> list[Sample]:
    """``samples`` less those similar to one in ``of``; datasketch's MinHash LSH decides."""
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS)
    for number, found in enumerate(_hashes(of)):
        index.insert(str(number), found)
    hashes = _hashes(samples)
    return [one for one, found in zip(samples, hashes, strict=True) if not index.query(found)]


def _hashes(samples: Sequence[Sample]) -> list[Any]:
    from datasketch import MinHash

    shingles = [_shingles(one.prompt.text[:2000]) for one in samples]
    found: list[Any] = MinHash.bulk(shingles, num_perm=PERMUTATIONS, seed=1)
    return found


def _shingles(text: str) -> list[bytes]:
    """Triples of words; of a short text each word as well."""
    words = _WORD.findall(text.lower()) or [text]
    triples = [" ".join(words[n : n + 3]) for n in range(max(1, len(words) - 2))]
    return [shingle.encode("utf-8", "replace") for shingle in triples]


def balanced(samples: Sequence[Sample], per_source: int, seed: int) -> list[Sample]:
    """At most ``per_source`` of each source."""
    rng = random.Random(f"balance {seed}")  # noqa: S311
    sources: dict[str, list[Sample]] = defaultdict(list)
    for one in samples:
        sources[one.source].append(one)
    return [one for name in sorted(sources) for one in some(sources[name], per_source, rng)]
