"""Prompts that an operator has labelled: the lines that ``hmas train label`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from hmas.controllers.perception.training import TASKS, Sample
from hmas.daemon.gateway.errors import ApiError
from hmas.daemon.gateway.explained import body_of
from hmas.daemon.training.labelling import numbered
from hmas.engine.features import TaskType

MAX_TOLD: Final = 20
"""Wrong lines that are told one by one; the others are only counted."""
KNOWN: Final = {task.value: task for task in TASKS}
EXAMPLE: Final = '{"task_type": "QA", "request": {"prompt": "..."}}'


class LabelledFileError(ValueError):
    """What is wrong with labelled files: file, line, field and what to do, one a line."""


class _Line(msgspec.Struct):
    task_type: msgspec.Raw = msgspec.Raw(b"")
    request: msgspec.Raw = msgspec.Raw(b"")


class _WrongLineError(ValueError):
    """Why a line cannot be used; the message begins with the field."""


def source_of(path: Path) -> str:
    """The name under which a file's prompts stand in a model card."""
    return f"own: {path.name}"


def read_labelled(paths: Sequence[Path]) -> list[Sample]:
    """The labelled prompts of all files, as the gateway would read them.

    Raises:
        LabelledFileError: lines are wrong, or there are none.
        OSError: a file cannot be read.
    """
    samples: list[Sample] = []
    problems: list[str] = []
    for path in paths:
        before = len(samples) + len(problems)
        for number, line in numbered(path):
            try:
                samples.append(_sample(source_of(path), line))
            except _WrongLineError as error:
                problems.append(f"{path} line {number}, {error}")
        if len(samples) + len(problems) == before:
            problems.append(f"{path}: no lines; label prompts with hmas train label --llm URL")
    if problems:
        raise LabelledFileError(_told(problems))
    return samples


def _sample(source: str, raw: bytes) -> Sample:
    try:
        line = msgspec.json.decode(raw, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _WrongLineError(f"no JSON object ({error}): write {EXAMPLE}") from error
    task_type = _task_type(bytes(line.task_type))
    if not line.request:
        raise _WrongLineError(f"field `request` is missing: write {EXAMPLE}")
    try:
        prompt = body_of(bytes(line.request)).prompt()
    except ApiError as error:
        field = f"request.{error.param}" if error.param else "request"
        fix = "give it the body of a completion or a chat"
        raise _WrongLineError(f"field `{field}`: {error.message}: {fix}") from error
    if not prompt.text.strip():
        fix = "give the prompt some text, or take the line out"
        raise _WrongLineError(f"field `request` has no text to learn from: {fix}")
    return Sample(source, prompt, task_type)


def _task_type(raw: bytes) -> TaskType:
    choices = f"one of {', '.join(KNOWN)}"
    if not raw:
        raise _WrongLineError(f"field `task_type` is missing: write {choices}")
    try:
        said = msgspec.json.decode(raw, type=str)
    except msgspec.MsgspecError as error:
        raise _WrongLineError(f"field `task_type` is no text: write {choices}") from error
    if said not in KNOWN:
        raise _WrongLineError(f"field `task_type` is {said[:40]!r}: write {choices}")
    return KNOWN[said]


def _told(problems: Sequence[str]) -> str:
    more = len(problems) - MAX_TOLD
    rest = [f"and {more} more wrong lines"] if more > 0 else []
    return "\n".join([*problems[:MAX_TOLD], *rest])
