"""Labelled files: read as the gateway reads, wrong lines named with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.training.labelled import MAX_TOLD, LabelledFileError, read_labelled
from hmas.daemon.training.labelling import Labelled
from hmas.engine.features import TaskType

GOOD = {"task_type": "QA", "request": {"prompt": "Who wrote it?"}}


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "own.jsonl"
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(texts) + b"\n")
    return path


def test_what_label_writes_is_read(tmp_path: Path) -> None:
    chat = {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "response_format": {"type": "json_object"},
        "model": "m",
    }
    line = Labelled(7, TaskType.DIALOGUE, msgspec.Raw(json.dumps(chat).encode()))
    first, second = read_labelled([written(tmp_path, msgspec.json.encode(line), b"", GOOD)])
    assert (first.task_type, first.prompt.text, first.prompt.system) == (
        TaskType.DIALOGUE,
        "Hi",
        "Be brief.",
    )
    assert first.prompt.json_answer
    assert (second.task_type, second.prompt.text) == (TaskType.QA, "Who wrote it?")
    assert {first.source, second.source} == {"own: own.jsonl"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "no JSON object"),
        (b"\xff\xfe", "no JSON object"),
        ([1], 'write {"task_type": "QA", "request"'),
        ({"request": GOOD["request"]}, "field `task_type` is missing: write one of "),
        (GOOD | {"task_type": 3}, "field `task_type` is no text: write one of "),
        (GOOD | {"task_type": "Poetry"}, "field `task_type` is 'Poetry': write one of "),
        (GOOD | {"task_type": "Unknown"}, "field `task_type` is 'Unknown': write one of "),
        ({"task_type": "QA"}, "field `request` is missing: write "),
        (GOOD | {"request": "Who?"}, "field `request`: not a JSON object"),
        (GOOD | {"request": {"messages": "Who?"}}, "field `request.messages`: "),
        (GOOD | {"request": {"max_tokens": 3}}, "field `request.prompt`: "),
        (GOOD | {"request": {"prompt": " "}}, "field `request` has no text to learn from: "),
    ],
)
def test_wrong_lines_are_named_with_field_and_fix(line: Any, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD, line)
    with pytest.raises(LabelledFileError) as raised:
        read_labelled([path])
    assert str(raised.value).startswith(f"{path} line 2, ")
    assert said in str(raised.value)


def test_all_wrong_lines_are_told_up_to_a_bound(tmp_path: Path) -> None:
    with pytest.raises(LabelledFileError) as raised:
        read_labelled([written(tmp_path, *[b"{"] * (MAX_TOLD + 5))])
    told = str(raised.value).splitlines()
    assert len(told) == MAX_TOLD + 1
    assert told[-1] == "and 5 more wrong lines"


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabelledFileError, match="no lines; label prompts"):
        read_labelled([written(tmp_path)])


@given(st.binary(max_size=80).filter(lambda raw: raw.strip() and b"\n" not in raw))
def test_any_bytes_are_read_or_refused_in_words(raw: bytes) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder, pytest.raises(LabelledFileError, match="line 1, "):
        read_labelled([written(Path(folder), raw)])
