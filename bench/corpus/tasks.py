"""All labelled prompts that there are: public sources by name, and our own templates."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from hmas.bench.corpus import conversations, instructions, questions, written
from hmas.controllers.perception.training import Sample

Loader = Callable[[Path, random.Random], list[Sample]]

LOADERS: Final[Mapping[str, Loader]] = {
    "gsm8k": questions.gsm8k,
    "wikisql": questions.wikisql,
    "medquad": questions.medquad,
    "mmlu": questions.mmlu,
    "humaneval": questions.humaneval,
    "alpaca": instructions.alpaca,
    "self_instruct": instructions.self_instruct,
    "t0": instructions.t0,
    "oasst": conversations.oasst,
    "tau_bench": conversations.tau_bench,
    "bfcl": conversations.bfcl,
    "llamafactory_tools": conversations.tool_demo,
    "who_and_when": conversations.who_and_when,
    "written": written.written,
    "tongues": written.tongues,
}
"""Each loader's docstring states how its source is labelled."""
PUBLIC: Final = tuple(name for name in LOADERS if name not in {"written", "tongues"})


def load_tasks(data: Path, seed: int, names: Iterable[str] = tuple(LOADERS)) -> list[Sample]:
    """Labelled prompts of the sources named; the same for the same seed.

    Raises:
        FileNotFoundError: the data folder lacks a source.
    """
    found: list[Sample] = []
    for name in names:
        found += LOADERS[name](data, random.Random(f"{name} {seed}"))  # noqa: S311
    return found
