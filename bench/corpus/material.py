"""Passages and sentences that templates are filled with, so that no text gives its task away."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from hmas.bench.corpus.sample import some
from hmas.bench.corpus.written_words import PASSAGES, SENTENCES

FROM_EACH: Final = 500
SHORTEST, LONGEST = 80, 1500
LONGEST_SENTENCE: Final = 120
_STOP: Final = re.compile(r"(?<=[.!?])\s+")


class Material(NamedTuple):
    passages: tuple[str, ...]
    sentences: tuple[str, ...]


def material(data: Path, rng: random.Random) -> Material:
    """Answers of MedQuAD (CC BY 4.0), Open Assistant and the Alpaca demonstration (Apache-2.0)."""
    passages, sentences = list(PASSAGES), list(SENTENCES)
    for read in (_medquad, _oasst, _alpaca):
        texts = [text for text in read(data) if len(text) >= SHORTEST]
        passages += [text[: rng.randint(200, LONGEST)] for text in some(texts, FROM_EACH, rng)]
        first = [_STOP.split(text, 1)[0] for text in some(texts, FROM_EACH, rng)]
        sentences += [text for text in first if len(text) <= LONGEST_SENTENCE]
    return Material(tuple(passages), tuple(sentences))


def _medquad(data: Path) -> Iterable[str]:
    import pandas as pd

    table = pd.read_parquet(data / "medquad" / "medquad.parquet", columns=["answer"])
    return [text for text in table["answer"] if isinstance(text, str)]


def _oasst(data: Path) -> Iterator[str]:
    path = data / "oasst" / "en_100_message.jsonl"
    for line in path.read_text(encoding="utf-8").strip().split("\n"):
        yield from _assistant(json.loads(line))


def _assistant(message: dict[str, Any]) -> Iterator[str]:
    if message["role"] == "assistant":
        yield message["text"]
    for reply in message.get("replies") or []:
        yield from _assistant(reply)


def _alpaca(data: Path) -> Iterable[str]:
    path = data / "llamafactory_demo" / "alpaca_en_demo.json"
    return [row["output"] for row in json.loads(path.read_text(encoding="utf-8"))]
