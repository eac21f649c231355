"""One label at a time, and what of an interrupted run still holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from hmas.controllers.meta.base import RefusalKind
from hmas.daemon.control.completion import CompletionError
from hmas.daemon.training.labelling import Labelled, NoLabelError, done_lines, label, numbered
from hmas.engine.features import TaskType

LINE = b'{"prompt": "What is the capital of France?"}'


class Model:
    """Answers with ``answer``, or raises it."""

    def __init__(self, answer: str | Exception) -> None:
        self._answer = answer
        self.asked: list[str] = []

    async def __call__(self, prompt: str, response_format: dict[str, Any]) -> str:
        self.asked.append(prompt)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


async def test_the_label_stands_beside_the_prompt() -> None:
    model = Model('{"task_type": "QA"}')
    found = await label(3, LINE, model)
    assert (found.line, found.task_type, bytes(found.request)) == (3, TaskType.QA, LINE)
    assert "capital of France" in model.asked[0]


@pytest.mark.parametrize(
    "answer",
    [
        "Sure: QA",
        '{"task_type": "Poetry"}',
        '{"task_type": "Unknown"}',
        CompletionError(RefusalKind.HTTP_ERROR, "status 400"),
    ],
)
async def test_what_is_no_label_is_said(answer: str | Exception) -> None:
    with pytest.raises(NoLabelError):
        await label(1, LINE, Model(answer))


async def test_a_line_that_is_no_request_is_not_asked_about() -> None:
    model = Model('{"task_type": "QA"}')
    with pytest.raises(NoLabelError):
        await label(1, b"[1]", model)
    assert model.asked == []


async def test_an_endpoint_that_is_gone_ends_the_run() -> None:
    with pytest.raises(CompletionError):
        await label(1, LINE, Model(CompletionError(RefusalKind.UNREACHABLE, "refused")))


def test_a_line_cut_short_is_labelled_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    assert done_lines(path) == set()
    rows = [Labelled(number, TaskType.QA, msgspec.Raw(LINE)) for number in (1, 4)]
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows) + b'{"li')
    assert done_lines(path) == {1, 4}
    assert path.read_bytes().endswith(b"\n")


def test_empty_lines_count_but_are_not_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"a\n\n b \n")
    assert list(numbered(path)) == [(1, b"a"), (3, b"b")]
