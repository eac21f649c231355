"""Prompts as the gateway would hand them to perception."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.training import Sample
from hmas.engine.features import TaskType

Item = TypeVar("Item")

CODES: dict[str, TaskType] = {
    "Q": TaskType.QA,
    "D": TaskType.DIALOGUE,
    "T": TaskType.TRANSLATION,
    "X": TaskType.EXTRACTION,
    "P": TaskType.PARAPHRASING,
    "C": TaskType.CODE_GENERATION,
    "I": TaskType.INSTRUCTION_FOLLOWING,
    "S": TaskType.SUMMARIZATION,
    "L": TaskType.LETTER_DRAFTING,
    "M": TaskType.MATH_REASONING,
    "E": TaskType.ESSAY_GENERATION,
    "F": TaskType.LONG_FORM_GENERATION,
    "R": TaskType.RESEARCH_AND_COMMUNICATION,
}
"""One letter per task type, for tables of labels."""


def sample(
    source: str,
    task_type: TaskType,
    text: str,
    *,
    system: str = "",
    turns: int = 1,
    tools: int = 0,
    json_answer: bool = False,
) -> Sample:
    """A labelled prompt; its size is that of the texts given."""
    size = len(text.encode("utf-8", "replace")) + len(system.encode("utf-8", "replace"))
    prompt = Prompt(
        text=text,
        system=system,
        size_bytes=size,
        turns=turns,
        tools=tools,
        json_answer=json_answer,
    )
    return Sample(source, prompt, task_type)


def some(items: Sequence[Item], most: int, rng: random.Random) -> list[Item]:
    """At most ``most`` of ``items``, in their order."""
    if len(items) <= most:
        return list(items)
    return [items[number] for number in sorted(rng.sample(range(len(items)), most))]
