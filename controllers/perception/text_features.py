"""What the learned classifier sees of a prompt: hashed words and characters, and its shape.

Each word, word pair and character sequence has a row in a table of weights. Digits are alike,
case is folded.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.rules import SYSTEM_CHARACTERS
from hmas.controllers.perception.text_kernel import (
    BUCKETS,
    IS_WORD,
    Codes,
    Floats,
    Places,
    weighed_rows,
)
from hmas.controllers.perception.text_shape import SHAPES, shape_rows

ROWS: Final = BUCKETS + SHAPES
"""Rows of the table of weights: hashed text, then one row per value of each shape feature."""

_MOST_CHARACTERS: Final = 4096


class Rows(NamedTuple):
    """Rows of the table that apply to one prompt, and the value of each."""

    row: Places
    value: Floats


class Reading(NamedTuple):
    """The first arguments of ``text_kernel``'s functions, which name them."""

    codes: Codes
    system: Codes
    shape: Places
    forms: int


def read(prompt: Prompt) -> Reading:
    """Never raises; bounded by the bounded reading of the prompt."""
    form, points = shape_rows(prompt)
    return Reading(
        _codes(prompt.folded),
        _codes(prompt.system[:SYSTEM_CHARACTERS].lower()),
        np.array(form + points, dtype=np.int64),
        len(form),
    )


def prompt_rows(prompt: Prompt) -> Rows:
    """Rows and values of one prompt."""
    return Rows(*weighed_rows(*read(prompt), IS_WORD))


def _codes(text: str) -> Codes:
    """Code points; lone surrogates are code points like any other."""
    raw = text[:_MOST_CHARACTERS].encode("utf-32-le", "surrogatepass")
    return np.frombuffer(raw, dtype=np.uint32)
