"""A new file in the challenger's place."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from pathlib import Path

import pytest

from hmas.controllers.prediction.duel import Standing
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.length_model import LengthModel, encode_model
from hmas.daemon.gateway.challenger import ChallengerFile
from tests.controllers.prediction.length_support import off_model, small_model


def put(path: Path, content: bytes, second: int) -> None:
    """As if written at that second: two files of one size differ by their times."""
    path.write_bytes(content)
    os.utime(path, (second, second))


def encoded(model: LengthModel) -> bytes:
    return encode_model(model.record)


async def test_a_new_file_is_a_new_challenger(tmp_path: Path) -> None:
    path = tmp_path / "new.model"
    lengths = LengthPredictor(small_model())
    file = ChallengerFile(str(path), lengths)
    await file.look()
    assert lengths.duel.other is None, "there is none yet"
    put(path, encoded(off_model(0.5)), 1)
    await file.look()
    first = lengths.duel.other
    assert first is not None
    assert first.record.version == "off"
    assert lengths.duel.state().standing is Standing.SHADOW
    await file.look()
    assert lengths.duel.other is first, "the same file is the same challenger"
    put(path, encoded(small_model()), 2)
    await file.look()
    assert lengths.duel.other is not first
    assert lengths.model is small_model(), "whoever answers goes on answering"


async def test_a_damaged_or_missing_file_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "new.model"
    put(path, encoded(off_model(0.5)), 1)
    lengths = LengthPredictor(small_model(), challenger=off_model(0.5))
    file, kept = ChallengerFile(str(path), lengths), lengths.duel.other
    put(path, b"half of it", 2)
    with caplog.at_level(logging.WARNING):
        await file.look()
        await file.look()
    path.unlink()
    await file.look()
    assert lengths.duel.other is kept
    assert len(caplog.records) == 1


async def test_it_looks_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "new.model"
    lengths = LengthPredictor(small_model())
    looking = asyncio.ensure_future(ChallengerFile(str(path), lengths, every_s=0.001).run())  # noqa: TID251
    put(path, encoded(off_model(0.5)), 1)
    async with asyncio.timeout(10):
        while lengths.duel.other is None:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    looking.cancel()
    with suppress(asyncio.CancelledError):
        await looking
