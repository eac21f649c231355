from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.prediction.sealed import (
    MAX_BYTES,
    CorruptModelError,
    read_sealed,
    seal,
    unseal,
)


class Weights(msgspec.Struct, frozen=True):
    name: str
    numbers: list[float]


class Other(msgspec.Struct, frozen=True):
    name: int


WEIGHTS = Weights("a", [0.5, 2.0])


def test_there_and_back() -> None:
    assert unseal(seal(WEIGHTS), Weights) == WEIGHTS


@given(st.integers(0, len(seal(WEIGHTS)) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(place: int, change: int) -> None:
    damaged = bytearray(seal(WEIGHTS))
    damaged[place] ^= change
    with pytest.raises(CorruptModelError, match="checksum"):
        unseal(bytes(damaged), Weights)


@given(st.binary(max_size=64))
def test_rubbish_is_one_clear_error(rubbish: bytes) -> None:
    with pytest.raises(CorruptModelError):
        unseal(rubbish, Weights)


def test_a_whole_file_of_another_kind() -> None:
    with pytest.raises(CorruptModelError, match="name"):
        unseal(seal(WEIGHTS), Other)


def test_a_file_larger_than_any_model_is_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(CorruptModelError, match="larger"):
        read_sealed(path)
