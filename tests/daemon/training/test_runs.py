"""Reports and files of a training run; the store read to its end."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hmas.daemon.training.runs import Kind, Report, Trained, every_record, named, train, write
from hmas.storage.memory import MemoryStore
from hmas.storage.records import TrainingRecord


def record(number: int) -> TrainingRecord:
    return TrainingRecord(
        id=f"r{number}",
        at_s=float(number),
        tenant="acme",
        task_type="QA",
        model="m",
        prompt_tokens=1,
        predicted_output_tokens=1,
        output_tokens=1,
        ttft_s=0.1,
        tpot_s=0.01,
    )


def test_the_store_is_read_to_its_end() -> None:
    store = MemoryStore()
    store.append([record(number) for number in range(25_001)])
    found = every_record(store)
    assert len({one.id for one in found}) == 25_001
    assert (found[0].id, found[-1].id) == ("r25000", "r0")


def test_files_and_report_are_written_whole(tmp_path: Path) -> None:
    content = b"weights"
    values: dict[str, Any] = {"kind": "length", "version": "1", "seed": 0, "data": "x"}
    report = Report(
        **values,
        data_hash="h",
        licence="l",
        files={"length.model": hashlib.sha256(content).hexdigest()},
        bytes=len(content),
        metrics={"mae": 1.0},
    )
    written = write(Trained({"length.model": content}, report), tmp_path / "new")
    assert [path.name for path in written] == ["length.model", "length.report.json"]
    assert written[0].read_bytes() == content
    assert msgspec.json.decode(written[1].read_bytes(), type=Report) == report
    assert len(list((tmp_path / "new").iterdir())) == 2
    renamed = named(Trained({"length.model": content}, report), "mine")
    assert renamed.files == {"mine.model": content}
    assert list(renamed.report.files) == ["mine.model"]


@pytest.mark.parametrize("kind", Kind)
def test_without_the_sets_nothing_is_trained(kind: Kind, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        train(kind, tmp_path, 0, lambda _text: None)
