from __future__ import annotations

from pathlib import Path

import pytest
import typer

from hmas.daemon.cli import training
from hmas.daemon.cli.exits import Exit
from hmas.daemon.training.runs import Report, Trained

REPORT = Report(
    kind="cost",
    version="1",
    seed=0,
    data="made up",
    data_hash="0",
    licence="none",
    files={},
    bytes=3,
    metrics={"mae": 1.5},
)


def test_a_finished_run_is_written_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "models"
    training.finish(Trained({"a.model": b"abc"}, REPORT), folder, json=False)
    assert (folder / "a.model").read_bytes() == b"abc"
    assert "mae" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(typer.Exit) as stopped:
        training.finish(Trained({"a.model": b"abc"}, REPORT), in_the_way, json=False)
    assert stopped.value.exit_code == Exit.FAILED
    assert str(in_the_way) in capsys.readouterr().err


def test_a_folder_without_the_sets_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        training.from_folder("cost", tmp_path, 0, json=True)
    assert str(tmp_path) in capsys.readouterr().err
