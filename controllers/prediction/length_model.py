"""The shipped length model: hashed words, tool-call probability, then quantiles of log length.

Two phases as in Maestro III-B: the calibrated probability that the answer calls a tool is one
of the numbers from which the trees tell the median and an upper quantile of log(1 + tokens).
"""

from __future__ import annotations

from bisect import bisect_right
from math import exp
from typing import Final, NamedTuple

import msgspec
import numpy as np

from hmas.controllers.prediction.length_features import BUCKETS, NUMBERS, LengthFeatures
from hmas.controllers.prediction.length_kernel import sum_at
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

    ``knots`` are (raw, probability) pairs of the isotonic calibration of tool calls.
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


class LengthGuess(NamedTuple):
    """In log(1 + tokens); ``spread`` is the distance from the median to the upper quantile."""

    median: float
    spread: float
    tool_probability: float


class LengthModel:
    """Answers from plain arrays. Raises :class:`CorruptModelError` for a bad record."""

    def __init__(self, record: LengthRecord) -> None:
        try:
            self._words = np.frombuffer(record.words, "<f2").astype(np.float32)
            self._tools = ObliviousTrees(record.tools, TOOL_NUMBERS)
            self._lengths = ObliviousTrees(record.lengths, LENGTH_NUMBERS)
        except (ValueError, MalformedTreesError) as error:
            raise CorruptModelError(str(error)) from error
        are_numbers = len(self._words) == BUCKETS and bool(np.isfinite(self._words).all())
        if not are_numbers or record.lengths.outputs != 2:
            raise CorruptModelError("weights of the words are missing or not numbers")
        if record.format != FORMAT or not record.knots:
            raise CorruptModelError(f"format {record.format[:40]!r}, not {FORMAT!r}")
        self.record = record
        self._raw = [raw for raw, _ in record.knots]
        self._probability = [probability for _, probability in record.knots]

    def text(self, features: LengthFeatures) -> float:
        """The words' own opinion of log(1 + tokens)."""
        return self.record.words_bias + sum_at(self._words, features.buckets)

    def guess(self, features: LengthFeatures, session: list[float]) -> LengthGuess:
        """``session`` as in ``SESSION_NUMBERS``."""
        numbers = [*features.numbers, *session, self.text(features)]
        offers_tools = features.numbers[_TOOLS] > 0
        probability = self.tool_probability(self._tools(numbers)[0]) if offers_tools else 0.0
        median, upper = self._lengths([*numbers, probability])
        median = min(MAX_LOG, max(0.0, median))
        return LengthGuess(median, min(MAX_LOG, max(0.0, upper - median)), probability)

    def tool_probability(self, raw: float) -> float:
        """Calibrated: between the two knots around the classifier's raw score."""
        place = bisect_right(self._raw, raw)
        if place == 0 or place == len(self._raw):
            return self._probability[min(place, len(self._raw) - 1)]
        low, high = self._raw[place - 1], self._raw[place]
        share = (raw - low) / (high - low) if high > low else 1.0
        known = self._probability
        return known[place - 1] + share * (known[place] - known[place - 1])


def encode_model(record: LengthRecord) -> bytes:
    return seal(record)


def decode_model(encoded: bytes) -> LengthModel:
    """The inverse of :func:`encode_model`. Raises :class:`CorruptModelError`."""
    return LengthModel(unseal(encoded, LengthRecord))


def to_tokens(log_tokens: float) -> float:
    """From log(1 + tokens) to tokens."""
    return exp(min(MAX_LOG, log_tokens)) - 1


_TOOLS: Final = NUMBERS.index("tools")
