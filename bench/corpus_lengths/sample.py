"""One request of a public set whose true output length is known, and how sets are split."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.rules import classify
from hmas.controllers.prediction.base import Question
from hmas.engine.features import TaskType

TEST_SHARE: Final = 0.3
WARM_SHARE: Final = 0.1
BYTES_PER_TOKEN: Final = 4
"""No tokenizer is downloaded: a text counts one token per four UTF-8 bytes, rounded up."""


class Part(Enum):
    """What a row may be used for: nobody trains or tunes on ``TEST``.

    ``WARM`` rows train no shipped model: they are the traffic that a predictor in service has
    already seen when it is tested.
    """

    TRAIN = "train"
    WARM = "warm"
    TEST = "test"


class MissingSetError(FileNotFoundError):
    """A file of the data folder is absent."""


def require_file(path: Path) -> Path:
    """The same path. Raises :class:`MissingSetError` where there is none."""
    if not path.is_file():
        raise MissingSetError(f"{path} is missing")
    return path


def text_tokens(text: str) -> int:
    """Estimated tokens of a text: its UTF-8 bytes by four, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


class Sample(msgspec.Struct, frozen=True):
    """A request and its truth, lengths in tokens.

    ``tenant`` is the application within the set; ``predicted_class`` is the proxy model's
    answer where a set has one; ``called_tool`` is None where nothing is known of tools.
    """

    source: str
    tenant: str
    task_type: TaskType
    prompt_tokens: int
    output_tokens: int
    part: Part
    prompt: Prompt
    model: str = ""
    session: str | None = None
    called_tool: bool | None = None
    predicted_class: int | None = None

    def question(self, request_id: str = "") -> Question:
        """What the gateway would ask."""
        return Question(
            tenant=self.tenant,
            task_type=self.task_type,
            prompt_tokens=self.prompt_tokens,
            model=self.model,
            session=self.session,
            prompt=self.prompt,
            request_id=request_id,
        )


@dataclass(frozen=True, slots=True)
class SetCard:
    """What a set is, whose it is, and how it is cut in two.

    ``is_ordered`` says that its order is one of time (or of steps within a session);
    ``has_text`` that the prompt itself is there, not its length alone.
    """

    name: str
    source: str
    licence: str
    split: str
    tokens: str
    is_ordered: bool = False
    has_text: bool = True


def part_of(key: str) -> Part:
    """By hash of the key, so that equal prompts are in one part in all sets."""
    share = crc32(key.strip().lower().encode("utf-8", "replace")) % 1000 / 1000
    if share < TEST_SHARE:
        return Part.TEST
    return Part.WARM if share < TEST_SHARE + WARM_SHARE else Part.TRAIN


def part_in_time(number: int, count: int) -> Part:
    """The first rows train, the last ones test."""
    share = number / count
    if share >= 1 - TEST_SHARE:
        return Part.TEST
    return Part.WARM if share >= 1 - TEST_SHARE - WARM_SHARE else Part.TRAIN


def answered(
    source: str,
    text: str,
    answer: str,
    *,
    tenant: str = "",
    task_type: TaskType | None = None,
    prompt: Prompt | None = None,
    model: str = "",
    session: str | None = None,
    called_tool: bool | None = None,
    key: str = "",
) -> Sample:
    """A sample of a prompt with its answer; without a task type, the rules' own reading."""
    size = len(text.encode("utf-8", "replace"))
    read = prompt or Prompt(text=text, size_bytes=size)
    return Sample(
        source=source,
        tenant=tenant or source,
        task_type=task_type or classify(read) or TaskType.UNKNOWN,
        prompt_tokens=max(1, -(-read.size_bytes // BYTES_PER_TOKEN)),
        output_tokens=max(1, text_tokens(answer)),
        part=part_of(key or text),
        prompt=read,
        model=model,
        session=session,
        called_tool=called_tool,
    )
