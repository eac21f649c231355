"""The shipped length model: hashed words, tool-call probability, then quantiles of log length.

Two phases as in Maestro III-B: the calibrated probability that the answer calls a tool is one
of the numbers from which the trees tell the median and an upper quantile of log(1 + tokens).
"""

from __future__ import annotations

from math import exp
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from hmas.controllers.prediction.kernels import (
    CRC_TABLE,
    Guess,
    OwnWords,
    between_knots,
    length_guess,
    length_reading,
)
from hmas.controllers.prediction.length_features import BUCKETS, NUMBERS, LengthFeatures, LengthText
from hmas.controllers.prediction.oblivious import MalformedTreesError, ObliviousTrees, TreeRecord
from hmas.controllers.prediction.sealed import CorruptModelError, seal, unseal

FORMAT: Final = "hmas-length-1"
MAX_LOG: Final = 14.0
"""No answer has more than a million tokens."""
SESSION_NUMBERS: Final = ("session_last", "session_mean", "session_count")
TEXT_NUMBERS: Final = ("text", "tool_probability")
TOOL_NUMBERS: Final = len(NUMBERS) + len(SESSION_NUMBERS) + 1
LENGTH_NUMBERS: Final = TOOL_NUMBERS + 1


class LengthRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in a model file; ``data_hash`` names the rows it was trained on.

    ``knots`` are (raw, probability) pairs of the isotonic calibration of tool calls; ``models``
    the served models in the training rows: another name tells the words nothing.
    """

    format: str
    version: str
    licence: str
    data_hash: str
    seed: int
    metrics: dict[str, dict[str, float]]
    words: bytes
    words_bias: float
    tools: TreeRecord
    knots: list[tuple[float, float]]
    lengths: TreeRecord
    models: list[str] = []


class LengthGuess(NamedTuple):
    """In log(1 + tokens); ``spread`` is the distance from the median to the upper quantile."""

    median: float
    spread: float
    tool_probability: float


class LengthReading(NamedTuple):
    """What one pass over a prompt's words tells: also where they stand in tables of weights.

    ``buckets`` as in :class:`LengthFeatures`; ``places`` and ``correction`` as of
    :class:`OnlineWords`.
    """

    guess: LengthGuess
    buckets: NDArray[np.int64]
    places: NDArray[np.int64]
    correction: float


class LengthModel:
    """Answers from plain arrays. Raises :class:`CorruptModelError` for a bad record."""

    def __init__(self, record: LengthRecord) -> None:
        try:
            words = np.frombuffer(record.words, "<f2").astype(np.float32)
            tools = ObliviousTrees(record.tools, TOOL_NUMBERS)
            lengths = ObliviousTrees(record.lengths, LENGTH_NUMBERS)
        except (ValueError, MalformedTreesError) as error:
            raise CorruptModelError(str(error)) from error
        are_numbers = len(words) == BUCKETS and bool(np.isfinite(words).all())
        if not are_numbers or record.lengths.outputs != 2:
            raise CorruptModelError("weights of the words are missing or not numbers")
        if record.format != FORMAT or not record.knots:
            raise CorruptModelError(f"format {record.format[:40]!r}, not {FORMAT!r}")
        self.record = record
        self.models = frozenset(record.models)
        knots = np.array(record.knots, dtype=np.float64).T.copy()
        self._arrays = (words, record.words_bias, tools.arrays, knots, lengths.arrays)

    def guess(self, features: LengthFeatures, session: list[float]) -> LengthGuess:
        """``session`` as in ``SESSION_NUMBERS``."""
        row = _row(features.numbers, session)
        return _guess(length_guess(row, features.buckets, self._arrays))

    def read(self, text: LengthText, session: list[float], own: OwnWords) -> LengthReading:
        """:meth:`guess`, and what the tenant's own weights say of the words."""
        row = _row(text.numbers, session)
        said = np.frombuffer(text.said, dtype=np.uint8)
        guess, buckets, places, correction = length_reading(
            said, row, CRC_TABLE, self._arrays, own, BUCKETS
        )
        return LengthReading(_guess(guess), buckets, places, correction)

    def tool_probability(self, raw: float) -> float:
        """Calibrated: between the two knots around the classifier's raw score."""
        return between_knots(float(raw), self._arrays[3])


def _row(numbers: list[float], session: list[float]) -> NDArray[np.float32]:
    return np.array([*numbers, *session, 0.0, numbers[_TOOLS] > 0], dtype=np.float32)


def _guess(found: Guess) -> LengthGuess:
    median, upper, probability = found
    median = min(MAX_LOG, max(0.0, median))
    return LengthGuess(median, min(MAX_LOG, max(0.0, upper - median)), probability)


def encode_model(record: LengthRecord) -> bytes:
    return seal(record)


def decode_model(encoded: bytes) -> LengthModel:
    """The inverse of :func:`encode_model`. Raises :class:`CorruptModelError`."""
    return LengthModel(unseal(encoded, LengthRecord))


def to_tokens(log_tokens: float) -> float:
    """From log(1 + tokens) to tokens."""
    return exp(min(MAX_LOG, log_tokens)) - 1


_TOOLS: Final = NUMBERS.index("tools")
