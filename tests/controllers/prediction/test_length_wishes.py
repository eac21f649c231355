from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.prediction.length_wishes import MAX_WISHED_TOKENS, length_wish


def tokens(text: str) -> float | None:
    return length_wish(text.split()).tokens


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("explain it in one sentence", 15, 40),
        ("write 500 words on rain", 500, 900),
        ("write a 500 word story", 500, 900),
        ("list 10 rivers", 80, 300),
        ("give me three short paragraphs", 200, 500),
        ("name 5 cities", 15, 120),
    ],
)
def test_wishes_become_tokens(text: str, low: float, high: float) -> None:
    found = tokens(text)
    assert found is not None
    assert low <= found <= high


@pytest.mark.parametrize("text", ["", "why is the sky blue", "the list of things", "words fail me"])
def test_no_number_no_wish(text: str) -> None:
    assert tokens(text) is None


def test_the_largest_wish_counts_and_is_bounded() -> None:
    assert tokens("one sentence each in 1000 words") == tokens("in 1000 words")
    assert tokens("write 999999 pages") == MAX_WISHED_TOKENS


def test_brevity_and_detail() -> None:
    assert length_wish(["answer", "briefly"]).is_short
    assert length_wish(["a", "detailed", "essay"]).is_long
    neutral = length_wish(["what", "time", "is", "it"])
    assert (neutral.is_short, neutral.is_long) == (False, False)


@given(st.lists(st.text(max_size=12), max_size=60))
def test_any_words(words: list[str]) -> None:
    wish = length_wish(words)
    assert wish.tokens is None or 0 <= wish.tokens <= MAX_WISHED_TOKENS
