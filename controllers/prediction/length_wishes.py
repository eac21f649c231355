"""Explicit wishes for the length of an answer: "in one sentence", "500 words", "list 10"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

UNIT_TOKENS: Final = {
    "word": 1.35,
    "sentence": 25.0,
    "paragraph": 110.0,
    "line": 14.0,
    "page": 600.0,
    "bullet": 22.0,
    "item": 12.0,
    "example": 25.0,
    "idea": 20.0,
    "way": 25.0,
    "reason": 25.0,
    "tip": 25.0,
    "step": 25.0,
    "point": 22.0,
    "question": 16.0,
    "fact": 22.0,
    "token": 1.0,
    "character": 0.25,
    "verse": 40.0,
    "stanza": 40.0,
    "title": 10.0,
    "name": 4.0,
}
"""Tokens that one of each takes, roughly; the model corrects the scale."""

SMALL_NUMBERS: Final = {
    "a": 1,
    "one": 1,
    "single": 1,
    "two": 2,
    "three": 3,
    "few": 3,
    "four": 4,
    "five": 5,
    "several": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
    "hundred": 100,
    "thousand": 1000,
}
UNITS: Final = UNIT_TOKENS | {f"{unit}s": tokens for unit, tokens in UNIT_TOKENS.items()}
LISTING: Final = frozenset({"list", "name", "give", "top", "suggest", "generate", "write"})
SHORT: Final = frozenset(
    {
        "brief",
        "briefly",
        "short",
        "shortly",
        "concise",
        "concisely",
        "succinct",
        "tersely",
        "tldr",
        "yes",
        "only",
        "classify",
    }
)
LONG: Final = frozenset(
    {
        "detailed",
        "detail",
        "essay",
        "story",
        "thorough",
        "thoroughly",
        "comprehensive",
        "long",
        "elaborate",
        "article",
        "report",
        "blog",
        "letter",
        "script",
        "poem",
        "explain",
    }
)
MAX_WISHED_TOKENS: Final = 100_000.0
_COUNTED: Final = LISTING.union(UNITS)
_TELLING: Final = _COUNTED | SHORT | LONG
_REACH: Final = 3
"""A number stands at most this many words before its unit: "five very short sentences"."""
_LISTED_TOKENS: Final = 15.0
_MOST_LISTED: Final = 100


class LengthWish(NamedTuple):
    """``tokens`` that the text asks for, None when it names no number."""

    tokens: float | None
    is_short: bool
    is_long: bool


_NO_WISH: Final = LengthWish(None, is_short=False, is_long=False)


def length_wish(words: Sequence[str]) -> LengthWish:
    """The largest length named in a prompt, given as lower-case words."""
    telling = _TELLING.intersection(words)
    if not telling:
        return _NO_WISH
    tokens = _wishes(words)
    wish = min(MAX_WISHED_TOKENS, max(tokens)) if tokens else None
    return LengthWish(wish, not SHORT.isdisjoint(telling), not LONG.isdisjoint(telling))


def _wishes(words: Sequence[str]) -> list[float]:
    named = [_named(words, place, word) for place, word in enumerate(words) if word in _COUNTED]
    return [tokens for tokens in named if tokens is not None]


def _named(words: Sequence[str], place: int, word: str) -> float | None:
    if word in UNITS:
        for before in reversed(words[max(0, place - _REACH) : place]):
            count = _number(before)
            if count is not None:
                return count * UNITS[word]
    if word in LISTING and place + 1 < len(words):
        count = _number(words[place + 1])
        counts_units = not UNITS.keys().isdisjoint(words[place + 2 : place + 2 + _REACH])
        if count is not None and 2 <= count <= _MOST_LISTED and not counts_units:
            return count * _LISTED_TOKENS
    return None


def _number(word: str) -> float | None:
    if word.isascii() and word.isdecimal() and len(word) <= 6:
        return float(word)
    small = SMALL_NUMBERS.get(word)
    return None if small is None else float(small)
