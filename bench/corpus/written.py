"""Our own templates, filled: the source for what public data covers badly.

Two sources come of it, ``written`` (English) and ``tongues`` (other languages). Some prompts get
what clients add in practice: a greeting, lower case, a system prompt, earlier turns. A template
is one group: its prompts never stand on both sides of a split.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hmas.bench.corpus import written_forms as forms
from hmas.bench.corpus import written_long as long
from hmas.bench.corpus import written_plain as plain
from hmas.bench.corpus import written_words as words
from hmas.bench.corpus.material import Material, material
from hmas.bench.corpus.sample import sample
from hmas.bench.corpus.written_single import SINGLE
from hmas.bench.corpus.written_tongues import FOREIGN_TOPICS, TONGUES
from hmas.controllers.perception.training import Sample
from hmas.engine.features import TaskType

OF_EACH: Final = 7
"""Prompts of a template that has something to fill in."""
OF_EACH_FOREIGN: Final = 4

_SLOT: Final = re.compile(r"\{(\w+?)\}")
_SLOTS: Final[Mapping[str, tuple[str, ...]]] = {
    "topic": words.TOPICS,
    "topic2": words.TOPICS,
    "person": words.PEOPLE,
    "reason": words.REASONS,
    "character": words.CHARACTERS,
    "character2": words.CHARACTERS,
    "language": words.LANGUAGES,
    "pl": words.PROGRAMMING,
    "chore": words.CHORES,
    "code": words.SNIPPETS,
    "thing": words.THINGS,
    "fact": words.FACTS,
    "formula": words.FORMULAS,
    "foreign": plain.FOREIGN,
    "foreign_topic": FOREIGN_TOPICS,
    "mixed": (*plain.FOREIGN, *plain.FOREIGN, *words.SENTENCES),
    "job": plain.JOBS,
    "place": long.PLACES,
    "place2": long.PLACES,
    "name": forms.NAMES,
    "name2": forms.NAMES,
    "objects": forms.OBJECTS,
    "column": forms.COLUMNS,
    "column2": forms.COLUMNS,
    "snake": forms.SNAKES,
    "question": tuple(line for line in SINGLE[TaskType.QA] if line.endswith("?")),
    "n": ("3", "4", "5", "6", "8", "10"),
    "k": ("2", "7", "9", "11", "12"),
    "m": ("14", "20", "36", "45", "120", "250"),
}
POLITE: Final = ("Hi, ", "Please ", "Hey! ", "Can you ", "I need help. ", "Could you please ", "")
AFTER: Final = (" Thanks!", " please", "\n\nThank you.", " Keep it short.", " Be detailed.")
SYSTEMS: Final = (
    "You are a helpful assistant.",
    "You are ChatGPT, a large language model. Answer as concisely as possible.",
    "You are a helpful, respectful and honest assistant.",
)
ROLES: Final[Mapping[TaskType, tuple[str, ...]]] = {
    TaskType.TRANSLATION: (
        "You are a translator. Translate everything that the user writes into German.",
        "Translate the user's text to English. Output only the translation.",
    ),
    TaskType.SUMMARIZATION: (
        "Summarize the user's text in three sentences.",
        "You are a summarization engine. Reply with a short summary of the given text.",
    ),
    TaskType.EXTRACTION: (
        "Extract the entities from the text and return JSON.",
        "You are an information extraction system. List names, dates and amounts.",
    ),
    TaskType.PARAPHRASING: (
        "Rewrite the user's text so that it is grammatically correct.",
        "You are an editor. Paraphrase what the user sends, keep the meaning.",
    ),
}
"""System prompts that are the instruction; the user's turn is only material."""
WITH_TEXT: Final = (TaskType.SUMMARIZATION, TaskType.EXTRACTION, TaskType.PARAPHRASING)
WITH_MATERIAL: Final = 25


def written(data: Path, rng: random.Random) -> list[Sample]:
    """English templates around texts of ``data``."""
    writer = _Writer(data, rng)
    found = []
    for templates_of in (plain.PLAIN, long.LONG, forms.FORMS):
        for task, templates in templates_of.items():
            for template in templates:
                found += [writer.dressed(task, template) for _ in range(_times(template, OF_EACH))]
    found += writer.follow_ups() + writer.roles() + writer.singles()
    return found + writer.services() + writer.tool_requests()


def tongues(data: Path, rng: random.Random) -> list[Sample]:
    """Templates in other languages; ``data`` is not read."""
    writer = _Writer(None, rng)
    return [
        sample("tongues", task, writer.filled(template))._replace(group=template)
        for task, templates in TONGUES.items()
        for template in templates
        for _ in range(_times(template, OF_EACH_FOREIGN))
    ]


def _times(template: str, most: int) -> int:
    return most if "{" in template else 2


class _Writer:
    """Fills templates; material is drawn from public texts where ``data`` is given."""

    def __init__(self, data: Path | None, rng: random.Random) -> None:
        self._rng = rng
        found = Material(words.PASSAGES, words.SENTENCES) if data is None else material(data, rng)
        self._material = found
        self._slots = {**_SLOTS, "passage": found.passages, "sentence": found.sentences}

    def filled(self, template: str) -> str:
        rng = self._rng
        if "{passages}" in template:
            several = rng.sample(self._material.passages, rng.randint(1, 5))
            template = template.replace("{passages}", "\n\n".join(several))
        return _SLOT.sub(lambda slot: rng.choice(self._slots.get(slot[1], ("",))), template)

    def dressed(self, task: TaskType, template: str) -> Sample:
        """A prompt as clients send it: with manners, in lower case, after earlier turns."""
        rng, text = self._rng, self.filled(template)
        if rng.random() < 0.2:
            text = rng.choice(POLITE) + text[:1].lower() + text[1:]
        if rng.random() < 0.15 and len(text) < 300:
            text += rng.choice(AFTER)
        if rng.random() < 0.15:
            text = text.lower()
        system = rng.choice(SYSTEMS) if rng.random() < 0.25 else ""
        turns = 1
        if rng.random() < 0.2:
            turns = rng.choice((3, 5, 7, 9))
            # Turns must not outweigh what the last one plainly asks for; a mere question or
            # wish in the middle of a conversation is part of the conversation.
            if task in {TaskType.QA, TaskType.INSTRUCTION_FOLLOWING}:
                task = TaskType.DIALOGUE
        made = sample(
            "written",
            task,
            text,
            system=system,
            turns=turns + bool(system),
            tools=int(task is TaskType.INSTRUCTION_FOLLOWING and rng.random() < 0.2),
            json_answer=task is TaskType.EXTRACTION and rng.random() < 0.15,
        )
        return made._replace(group=template)

    def follow_ups(self) -> list[Sample]:
        rng = self._rng
        return [
            sample(
                "written",
                TaskType.DIALOGUE,
                self.filled(template),
                turns=rng.randint(3, 12),
                system=rng.choice(("", *SYSTEMS)),
                tools=int(rng.random() < 0.3),
            )._replace(group=template)
            for template in long.FOLLOW_UPS
            for _ in range(OF_EACH)
        ]

    def roles(self) -> list[Sample]:
        """A system prompt with the instruction, the user's turn bare material."""
        rng, found = self._rng, self._material
        return [
            sample(
                "written",
                task,
                rng.choice(found.passages if rng.random() < 0.7 else found.sentences),
                system=system,
                turns=2,
            )._replace(group=system)
            for task, systems in ROLES.items()
            for system in systems
            for _ in range(WITH_MATERIAL)
        ]

    def singles(self) -> list[Sample]:
        """Each as it stands, and once more with manners or material of its own."""
        found = []
        for task, lines in SINGLE.items():
            for line in lines:
                found += [sample("written", task, line)._replace(group=line)]
                if line.endswith(".") and task in WITH_TEXT:
                    text = f"{line}\n\n{self._rng.choice(self._material.passages)}"
                    found.append(sample("written", task, text)._replace(group=line))
                else:
                    found.append(self.dressed(task, line.replace("{", "").replace("}", "")))
        return found

    def services(self) -> list[Sample]:
        """A customer's turns, the agent's policy as the system prompt."""
        rng = self._rng
        return [
            sample(
                "written",
                TaskType.DIALOGUE,
                self.filled(template),
                system=rng.choice(forms.POLICIES),
                turns=rng.choice((2, 2, 4, 6, 8, 12, 16)),
                tools=int(rng.random() < 0.7),
            )._replace(group=template)
            for template in forms.SERVICE
            for _ in range(OF_EACH)
        ]

    def tool_requests(self) -> list[Sample]:
        rng = self._rng
        return [
            sample(
                "written",
                TaskType.INSTRUCTION_FOLLOWING,
                self.filled(template),
                system="" if rng.random() < 0.8 else rng.choice(SYSTEMS),
                tools=1,
            )._replace(group=f"tools {template}")
            for template in forms.TOOL_REQUESTS
            for _ in range(OF_EACH)
        ]
