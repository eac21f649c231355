"""The trained cost models: an ensemble of trees per target, over one row of features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from hmas.controllers.prediction.cost_features import FEATURES
from hmas.controllers.prediction.oblivious import MalformedTreesError, ObliviousTrees, TreeRecord
from hmas.controllers.prediction.sealed import CorruptModelError, read_sealed, seal, unseal

FORMAT: Final = "hmas-cost-1"
TARGETS: Final = ("ttft_ms", "tpot_ms", "latency_per_token_ms")
"""Throughput of a request is the inverse of its latency per token: no model of its own."""
MAX_LOG: Final = 18.0
"""Nothing takes longer than 18 hours, in log milliseconds."""
SHIPPED: Final = Path(__file__).parent / "models" / "cost.model"


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
    """Raises :class:`CorruptModelError` for a record that is not whole."""

    def __init__(self, record: CostRecord) -> None:
        if record.format != FORMAT:
            raise CorruptModelError(f"format {record.format[:40]!r}, not {FORMAT!r}")
        if tuple(record.features) != FEATURES or set(record.trees) != set(TARGETS):
            raise CorruptModelError("made for other features or targets than this version has")
        if any(record.trees[target].outputs != 1 for target in TARGETS):
            raise CorruptModelError("an ensemble has more than one output")
        try:
            self._trees = [ObliviousTrees(record.trees[name], len(FEATURES)) for name in TARGETS]
        except MalformedTreesError as error:
            raise CorruptModelError(str(error)) from error
        self.record = record

    def predict(self, numbers: Sequence[float]) -> list[float]:
        """Values of :data:`TARGETS` from a row of ``cost_features``; about 15 us."""
        row = np.asarray(numbers, dtype=np.float32)
        return [math.exp(min(MAX_LOG, trees(row)[0])) for trees in self._trees]


def encode_cost_model(record: CostRecord) -> bytes:
    return seal(record)


def decode_cost_model(encoded: bytes) -> CostModel:
    """The inverse of :func:`encode_cost_model`. Raises :class:`CorruptModelError`."""
    return CostModel(unseal(encoded, CostRecord))


def read_cost_model(path: Path | None = None) -> CostModel:
    """The model in a file, by default the shipped one.

    Raises:
        OSError: it cannot be read.
        CorruptModelError: damaged, too large, or of another format.
    """
    return decode_cost_model(read_sealed(path or SHIPPED))
