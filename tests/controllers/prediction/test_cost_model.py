"""A cost model's file: read back whole, or refused with one clear sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from hmas.controllers.prediction.cost_features import EngineRows, Load
from hmas.controllers.prediction.cost_model import (
    SHIPPED,
    CostModel,
    decode_cost_model,
    encode_cost_model,
    read_cost_model,
)
from hmas.controllers.prediction.sealed import CorruptModelError
from tests.controllers.prediction.cost_support import A100, record

LOAD = Load(prompt_tokens=200, output_tokens=10)
ROWS = EngineRows(A100)


def test_what_was_written_is_read() -> None:
    model = decode_cost_model(encode_cost_model(record()))
    assert model.predict(ROWS.row(LOAD)) == pytest.approx([100, 20, 40])
    short = structs.replace(LOAD, prompt_tokens=50)
    assert model.predict(ROWS.row(short)) == pytest.approx([10, 20, 40])


@given(st.binary(max_size=200))
def test_garbage_is_refused(garbage: bytes) -> None:
    with pytest.raises(CorruptModelError):
        decode_cost_model(garbage)


@given(st.integers(0, len(encode_cost_model(record())) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(place: int, change: int) -> None:
    damaged = bytearray(encode_cost_model(record()))
    damaged[place] ^= change
    with pytest.raises(CorruptModelError, match="checksum"):
        decode_cost_model(bytes(damaged))


def test_a_model_for_other_features_is_refused() -> None:
    with pytest.raises(CorruptModelError, match="other features"):
        CostModel(structs.replace(record(), features=["prompt_tokens"]))


def test_another_format_is_refused() -> None:
    with pytest.raises(CorruptModelError, match="'hmas-cost-0'"):
        CostModel(structs.replace(record(), format="hmas-cost-0"))


def test_trees_that_do_not_fit_are_refused() -> None:
    whole = record()
    tree = structs.replace(whole.trees["ttft_ms"], leaves=b"")
    with pytest.raises(CorruptModelError, match="leaves"):
        CostModel(structs.replace(whole, trees=whole.trees | {"ttft_ms": tree}))


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    with pytest.raises(CorruptModelError, match="larger"):
        read_cost_model(path)


def test_the_shipped_model_is_small_and_sensible() -> None:
    assert SHIPPED.stat().st_size < 1_500_000
    model = read_cost_model()
    ttft_ms, tpot_ms, per_token_ms = model.predict(ROWS.row(LOAD))
    assert 10 < ttft_ms < 500
    assert 5 < tpot_ms < 100
    assert per_token_ms > tpot_ms * 0.5
    busy = structs.replace(
        LOAD, in_flight=100, prefilling=60, in_flight_tokens=12_000, prefilling_tokens=7_000
    )
    assert model.predict(ROWS.row(busy))[0] > 3 * ttft_ms


def test_the_shipped_model_says_where_it_comes_from() -> None:
    shipped = read_cost_model().record
    assert shipped.licence == "CDLA-Permissive-2.0"
    assert "LLM-Pilot" in shipped.source
    assert shipped.metrics["ttft_ms"]["r2"] > 0.85
