from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.text_features import ROWS, prompt_rows
from hmas.controllers.perception.text_kernel import BUCKETS

ANY_TEXT = st.text(st.characters(codec=None), max_size=3000)
"""Every code point, lone surrogates among them."""


def hashed(text: str) -> set[int]:
    index = prompt_rows(Prompt(text=text)).row
    return {int(row) for row in index if row < BUCKETS}


def test_words_have_the_same_rows_wherever_they_stand() -> None:
    shared = hashed("alpha beta gamma") & hashed("delta beta gamma epsilon")
    assert len(shared) >= 4


def test_case_and_digits_do_not_matter() -> None:
    assert hashed("Alpha 12") == hashed("alpha 97")


def test_a_system_prompt_speaks_with_the_words_of_an_instruction() -> None:
    told = prompt_rows(Prompt(text="zq", system="translate everything"))
    said = prompt_rows(Prompt(text="translate everything"))
    assert len(set(told.row.tolist()) & set(said.row.tolist())) >= 3


def test_long_texts_are_read_at_both_ends_only() -> None:
    short = prompt_rows(Prompt(text="a b " * 250))
    huge = prompt_rows(Prompt(text="a b " * 1_000_000))
    assert len(huge.row) <= len(short.row) + 8


@settings(max_examples=300)
@given(ANY_TEXT, ANY_TEXT)
def test_any_prompt_has_rows_in_range(text: str, system: str) -> None:
    rows = prompt_rows(Prompt(text=text, system=system))
    assert len(rows.row) == len(rows.value)
    assert rows.row.min() >= 0
    assert rows.row.max() < ROWS
    assert np.isfinite(rows.value).all()
