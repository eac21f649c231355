"""Which models the settings name, as ``hmas doctor`` says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hmas.controllers.perception.learned import load
from hmas.controllers.prediction.shipped import read_model
from hmas.daemon.cli.findings import Finding, Mark
from hmas.daemon.cli.models import models
from hmas.daemon.settings import Settings
from tests.controllers.prediction.length_support import small_file


def found(**gateway: str) -> dict[str, Finding]:
    settings = Settings.model_validate({"runtime_dir": "/r", "state_dir": "/s", "gateway": gateway})
    return {finding.check: finding for finding in models(settings)}


def test_off_is_said_with_what_answers_instead() -> None:
    rows = found()
    assert rows["task model"].detail == "off: the rules classify"
    assert rows["length model"].detail == "off: the history predicts"
    assert {row.mark for row in rows.values()} == {Mark.OK}
    assert "length challenger" not in rows


def test_whole_files_say_their_version_and_licence(tmp_path: Path) -> None:
    path = tmp_path / "own.model"
    path.write_bytes(small_file())
    rows = found(classifier="shipped", length_model="shipped", length_challenger=str(path))
    assert {row.mark for row in rows.values()} == {Mark.OK}
    card, record = load().card, read_model().record
    assert rows["task model"].facts["data_hash"] == card.data_hash
    assert rows["length model"].facts == {
        "choice": "shipped",
        "version": record.version,
        "data_hash": record.data_hash,
        "licence": record.licence,
    }
    assert f"version {card.version}, " in rows["task model"].detail
    assert rows["length challenger"].detail.startswith(f"{path}: version 1, data ")
    assert rows["length challenger"].detail.endswith(", none")


@pytest.mark.parametrize("content", [None, b"garbage", small_file()[:-10]])
def test_a_file_that_cannot_be_used_is_a_failure_with_what_answers(
    content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "bad.model"
    if content is not None:
        path.write_bytes(content)
    rows = found(classifier=str(path), length_model=str(path), length_challenger=str(path))
    assert {row.mark for row in rows.values()} == {Mark.FAIL}
    assert all(str(path) in row.detail for row in rows.values())
    assert rows["task model"].detail.endswith("the rules classify alone")
    assert rows["length model"].detail.endswith("the history predicts")
    assert rows["length challenger"].detail.endswith("there is no duel")
    assert all(row.fix.startswith(("hmas train", "gateway.")) for row in rows.values())
