"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.cli.durations import duration_words, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("1h30m", 5400),
        ("2d", 172_800),
        (" 1H 30M ", 5400),
        ("0.5s", 0.5),
    ],
)
def test_what_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "write 90s, 30m, 1h30m or 2d"),
        ("soon", "write 90s"),
        ("-5m", "write 90s"),
        ("30", "did you mean 30s or 30m?"),
        ("30m1h", "the larger first"),
        ("1m1m", "every unit once"),
        ("0s", "no time at all"),
        ("1h 30", "write 90s"),
    ],
)
def test_what_is_refused_comes_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(ValueError, match=hint.replace("?", r"\?")):
        parse_duration(text)


@given(st.integers(min_value=60, max_value=30 * 86_400))
def test_words_are_read_back_to_within_their_smallest_unit(seconds: int) -> None:
    read = parse_duration(duration_words(seconds))
    assert read <= seconds
    assert seconds - read < (3600 if seconds >= 86_400 else 60)


def test_less_than_a_minute_keeps_its_fraction() -> None:
    assert duration_words(4.26) == "4.26s"
