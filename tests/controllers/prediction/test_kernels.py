from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.prediction.kernels import (
    CRC_TABLE,
    distinct_buckets,
    own_places,
    sum_at,
)

PIECES = st.lists(st.binary(max_size=30).map(lambda piece: piece.replace(b"\0", b"")), max_size=60)


@settings(deadline=None)
@given(PIECES)
def test_buckets_are_those_of_zlibs_checksum(pieces: list[bytes]) -> None:
    said = np.frombuffer(b"".join(piece + b"\0" for piece in pieces), dtype=np.uint8)
    found = distinct_buckets(said, 1024, CRC_TABLE)
    assert sorted(found.tolist()) == sorted({crc32(piece) % 1024 for piece in pieces})


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**14 - 1), max_size=60), st.integers(0, 2**31 - 1))
def test_places_are_scattered_by_the_salt(buckets: list[int], salt: int) -> None:
    found = own_places(np.array(buckets, dtype=np.int64), 40503, salt, 1 << 16)
    assert found.tolist() == [(bucket * 40503 ^ salt) % (1 << 16) for bucket in buckets]


def test_the_sum_counts_a_place_as_often_as_it_is_named() -> None:
    weights = np.array([0.5, 1.0, 4.0], dtype=np.float32)
    assert sum_at(weights, np.array([2, 0, 2])) == pytest.approx(8.5)
