"""The trained cost models: an ensemble of trees per target, over one row of features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from hmas.controllers.prediction.cost_features import FEATURES, EngineShape, Load, row
from hmas.controllers.prediction.oblivious import MalformedTreesError, ObliviousTrees, TreeRecord

FORMAT: Final = "hmas-cost-1"
TARGETS: Final = ("ttft_ms", "tpot_ms", "latency_per_token_ms")
"""Throughput of a request is the inverse of its latency per token: no model of its own."""
MAX_LOG: Final = 18.0
"""Nothing takes longer than 18 hours, in log milliseconds."""
SHIPPED: Final = Path(__file__).parent / "models" / "cost.model"
MAX_BYTES: Final = 16 * 1024 * 1024


class CorruptCostModelError(ValueError):
    """A file that is not a cost model, is damaged, or was made for other features."""


class CostRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in a model file; ``data_hash`` names the rows it was trained on.

    ``trees`` has an ensemble per name in :data:`TARGETS`, each for the logarithm of its target.
    """

    format: str
    version: str
    licence: str
    source: str
    data_hash: str
    seed: int
    features: list[str]
    metrics: dict[str, dict[str, float]]
    trees: dict[str, TreeRecord]


class CostModel:
    """Raises :class:`CorruptCostModelError` for a record that is not whole."""

    def __init__(self, record: CostRecord) -> None:
        if record.format != FORMAT:
            raise CorruptCostModelError(f"format {record.format[:40]!r}, not {FORMAT!r}")
        if tuple(record.features) != FEATURES or set(record.trees) != set(TARGETS):
            raise CorruptCostModelError("made for other features or targets than this version has")
        if any(record.trees[target].outputs != 1 for target in TARGETS):
            raise CorruptCostModelError("an ensemble has more than one output")
        try:
            self._trees = [ObliviousTrees(record.trees[name], len(FEATURES)) for name in TARGETS]
        except MalformedTreesError as error:
            raise CorruptCostModelError(str(error)) from error
        self.record = record

    def predict(self, shape: EngineShape, load: Load) -> list[float]:
        """Values of :data:`TARGETS`; about 0.1 ms."""
        return self.predict_row(row(shape, load))

    def predict_row(self, numbers: Sequence[float]) -> list[float]:
        """The same from a row of ``cost_features``."""
        return [math.exp(min(MAX_LOG, trees(numbers)[0])) for trees in self._trees]


def encode_cost_model(record: CostRecord) -> bytes:
    """Checksum and MessagePack: reading a file runs no code."""
    payload = msgspec.msgpack.encode(record)
    return crc32(payload).to_bytes(4, "little") + payload


def decode_cost_model(encoded: bytes) -> CostModel:
    """The inverse of :func:`encode_cost_model`.

    Raises:
        CorruptCostModelError: damaged, cut off, or of another format.
    """
    payload = encoded[4:]
    if crc32(payload) != int.from_bytes(encoded[:4], "little"):
        raise CorruptCostModelError("the checksum does not match")
    try:
        return CostModel(msgspec.msgpack.decode(payload, type=CostRecord))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise CorruptCostModelError(str(error)) from error


def read_cost_model(path: Path | None = None) -> CostModel:
    """The model in a file, by default the shipped one.

    Raises:
        OSError: it cannot be read.
        CorruptCostModelError: damaged, too large, or of another format.
    """
    with (path or SHIPPED).open("rb") as file:
        encoded = file.read(MAX_BYTES + 1)
    if len(encoded) > MAX_BYTES:
        raise CorruptCostModelError(f"larger than {MAX_BYTES} bytes")
    return decode_cost_model(encoded)
