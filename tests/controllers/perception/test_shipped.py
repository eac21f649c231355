from __future__ import annotations

from pathlib import Path

import pytest

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.learned import SHIPPED
from hmas.controllers.perception.shipped import task_classifier

MAX_BYTES = 2 * 1024 * 1024


def test_shipped_off_or_a_path() -> None:
    assert task_classifier("off") is None
    assert task_classifier("shipped") is not None
    assert task_classifier(str(SHIPPED)) is not None


def test_the_shipped_file_is_small_and_has_its_card() -> None:
    assert SHIPPED.stat().st_size < MAX_BYTES
    model = task_classifier("shipped")
    assert model is not None
    card = SHIPPED.with_suffix(".md").read_text(encoding="utf-8")
    assert model.card.data_hash in card
    assert model.card.metrics
    assert set(model.card.trained_on) >= {"alpaca", "gsm8k", "written"}


@pytest.mark.parametrize("content", [None, b"", b"not a model", b"hmas task model 1\n\xff\xff"])
def test_without_a_usable_file_there_is_one_warning(
    content: bytes | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "task.hmas"
    if content is not None:
        path.write_bytes(content)
    assert task_classifier(str(path)) is None
    assert len(caplog.records) == 1
    assert str(path) in caplog.text


def test_a_shipped_model_answers() -> None:
    model = task_classifier("shipped")
    assert model is not None
    assert model.classify(Prompt(text="Translate to German: hello")) is not None
