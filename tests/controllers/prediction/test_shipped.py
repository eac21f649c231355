from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from hmas.controllers.prediction.history import HistoryPredictor
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.shipped import SHIPPED, cost_model, length_predictor, read_model
from tests.controllers.prediction.length_support import ask, small_file

MAX_BYTES = 1_500_000


def test_the_shipped_model_is_small_and_says_where_it_comes_from() -> None:
    assert SHIPPED.stat().st_size < MAX_BYTES
    record = read_model().record
    assert record.licence
    assert record.data_hash
    card = SHIPPED.with_suffix(".md").read_text()
    assert record.data_hash in card, "the card is of another training run"
    for name in record.metrics:
        assert name in card


def test_the_shipped_model_knows_long_from_short() -> None:
    predictor = length_predictor("shipped")
    short = predictor.predict(ask("Is the sky blue? Answer yes or no.", prompt_tokens=10))
    long = predictor.predict(ask("Write a detailed essay of 500 words on rain.", prompt_tokens=10))
    assert short.output_tokens < long.output_tokens


def test_off_is_history_alone() -> None:
    assert isinstance(length_predictor("off"), HistoryPredictor)


def test_a_file_of_the_operator(tmp_path: Path) -> None:
    path = tmp_path / "own.model"
    path.write_bytes(small_file())
    assert isinstance(length_predictor(str(path)), LengthPredictor)


@pytest.mark.parametrize("content", [None, b"", b"garbage", small_file()[:-10]])
def test_a_bad_file_is_one_warning_and_history_goes_on(
    content: bytes | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "bad.model"
    if content is not None:
        path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        predictor = length_predictor(str(path))
    assert isinstance(predictor, HistoryPredictor)
    [record] = caplog.records
    assert str(path) in record.getMessage()


def test_the_shipped_cost_model_and_a_bad_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert cost_model("shipped") is not None
    path = tmp_path / "bad.model"
    path.write_bytes(b"garbage")
    assert not caplog.records
    assert cost_model(str(path)) is None
    [record] = caplog.records
    assert str(path) in record.getMessage()


def test_a_challenger_is_read_like_the_model(tmp_path: Path) -> None:
    path = tmp_path / "own.model"
    path.write_bytes(small_file())
    predictor = length_predictor("shipped", str(path))
    assert isinstance(predictor, LengthPredictor)
    assert predictor.duel.other is not None
    assert predictor.duel.other.record.licence == "none"
    assert predictor.model.record == read_model().record


@pytest.mark.parametrize("content", [None, b"garbage"])
def test_a_bad_challenger_is_one_warning_and_no_duel(
    content: bytes | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "bad.model"
    if content is not None:
        path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        predictor = length_predictor("shipped", str(path))
    assert isinstance(predictor, LengthPredictor)
    assert predictor.duel.other is None
    [record] = caplog.records
    assert str(path) in record.getMessage()
    assert "no duel" in record.getMessage()


def test_nothing_heavy_is_imported_to_predict() -> None:
    code = (
        "import sys; import hmas.controllers.prediction.shipped as s;"
        "s.length_predictor('shipped', 'shipped');"
        "print([m for m in ('catboost', 'pandas', 'sklearn', 'river') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
