"""Ensembles of symmetric trees as plain arrays: what CatBoost grows, without CatBoost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from hmas.controllers.prediction.kernels import Trees, leaf_sums


class MalformedTreesError(ValueError):
    """Arrays that do not describe an ensemble."""


class TreeRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An ensemble in a file; arrays are little-endian bytes.

    Attributes:
        trees, depth, outputs: sizes; a tree shallower than ``depth`` repeats no split.
        features: uint8 of (trees, depth); which number a split looks at.
        borders: float32 of (trees, depth); a number above it sets the split's bit.
        leaves: float32 of (trees, 2 ** depth, outputs).
        bias: of each output.
    """

    trees: int
    depth: int
    outputs: int
    features: bytes
    borders: bytes
    leaves: bytes
    bias: list[float]


class ObliviousTrees:
    """Sums of leaves; a few microseconds for 300 trees.

    ``arrays`` are what :func:`kernels.leaf_sums` takes.

    Raises :class:`MalformedTreesError` for arrays of wrong size or features beyond ``numbers``.
    """

    def __init__(self, record: TreeRecord, numbers: int) -> None:
        shape = (record.trees, record.depth)
        if not (0 < record.trees <= 10_000 and 0 < record.depth <= 10 and len(record.bias) >= 1):
            raise MalformedTreesError("sizes of the ensemble are out of range")
        try:
            features = np.frombuffer(record.features, "<u1").reshape(shape)
            borders = np.frombuffer(record.borders, "<f4").reshape(shape)
            leaves = np.frombuffer(record.leaves, "<f4").reshape(-1, record.outputs)
        except ValueError as error:
            raise MalformedTreesError(str(error)) from error
        if len(leaves) != record.trees << record.depth or len(record.bias) != record.outputs:
            raise MalformedTreesError("leaves do not fit the trees")
        if int(features.max()) >= numbers or not np.isfinite(leaves).all():
            raise MalformedTreesError("a split or a leaf is out of range")
        bias = np.asarray(record.bias, dtype=np.float64)
        self.arrays: Trees = (features, borders, leaves, bias)

    def __call__(self, numbers: Sequence[float] | NDArray[np.float32]) -> list[float]:
        """Every output for one row of numbers."""
        row = np.asarray(numbers, dtype=np.float32)
        return cast(list[float], leaf_sums(row, self.arrays).tolist())

    def rows(self, numbers: NDArray[np.float32]) -> NDArray[np.float64]:
        """The same for many rows: (rows, outputs)."""
        return np.array([self(row.tolist()) for row in numbers])


def from_catboost(model: Mapping[str, Any]) -> TreeRecord:
    """A CatBoost model saved as JSON, of numeric features and symmetric trees only."""
    scale, bias = model["scale_and_bias"]
    trees = model["oblivious_trees"]
    depth = max(1, *(len(tree["splits"] or ()) for tree in trees))
    outputs = len(bias)
    features = np.zeros((len(trees), depth), dtype="<u1")
    borders = np.full((len(trees), depth), np.inf, dtype="<f4")
    leaves = np.zeros((len(trees), 1 << depth, outputs), dtype="<f4")
    for number, tree in enumerate(trees):
        for place, split in enumerate(tree["splits"] or ()):
            features[number, place] = split["float_feature_index"]
            borders[number, place] = split["border"]
        values = np.array(tree["leaf_values"]).reshape(-1, outputs) * scale
        leaves[number, : len(values)] = values
    return TreeRecord(
        trees=len(trees),
        depth=depth,
        outputs=outputs,
        features=features.tobytes(),
        borders=borders.tobytes(),
        leaves=leaves.tobytes(),
        bias=[float(value) for value in bias],
    )
