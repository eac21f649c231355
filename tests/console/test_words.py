"""Numbers and times in words."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.console import words
from hmas.daemon.wire import OverrideKind, OverrideOut


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "–"),
        (0.0, "0.0 %"),
        (0.0004, "<0.1 %"),
        (0.0123, "1.2 %"),
        (0.5, "50 %"),
        (1.0, "100 %"),
    ],
)
def test_percent(share: float | None, text: str) -> None:
    assert words.percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.44, "0.4 ms"), (42.4, "42 ms"), (999, "999 ms"), (1840, "1.84 s")],
)
def test_milliseconds(value: float | None, text: str) -> None:
    assert words.milliseconds(value) == text


def test_large_counts_are_grouped_without_a_comma() -> None:
    assert words.count(12_345) == "12\u202f345"
    assert words.count(None) == "–"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (3900, "1 h 05 min"),
        (86_400, "1 d"),
        (100_000, "1 d 3 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@given(st.floats(0, 1e9))
def test_a_duration_is_never_longer_than_a_chip(seconds: float) -> None:
    assert len(words.duration(seconds)) <= 12


def test_both_clocks() -> None:
    berlin = words.zone("Europe/Berlin")
    assert words.both_times(1_790_000_000.0, berlin) == "14:13:20 UTC · 16:13:20 local"
    assert words.both_times(1_790_000_000.0, None) == "14:13:20 UTC"


@pytest.mark.parametrize("name", [None, "", "Mars/Olympus", "../etc/passwd", "/etc/localtime"])
def test_an_unknown_zone_is_no_zone(name: str | None) -> None:
    assert words.zone(name) is None


def test_a_known_zone() -> None:
    assert words.zone("Asia/Tokyo") == ZoneInfo("Asia/Tokyo")


def test_ages() -> None:
    assert words.ago(None, 100.0) == "never"
    assert words.ago(99.5, 100.0) == "just now"
    assert words.ago(40.0, 100.0) == "1 min ago"


def override(**changes: object) -> OverrideOut:
    fields: dict[str, object] = {
        "id": "o1",
        "kind": OverrideKind.PIN,
        "engine_id": "*",
        "owner": "ada",
        "reason": "because",
        "created_at_s": 0.0,
        "topology": "edf",
    }
    return OverrideOut.model_validate(fields | changes)


def test_overrides_say_what_they_do_and_until_when() -> None:
    assert words.override_title(override()) == "Pin edf on all engines"
    hinted = override(engine_id="a", hints={"fast_share": 0.5})
    assert words.override_title(hinted) == "Pin edf on a (fast_share 0.5)"
    fixed = override(kind="controls", topology=None, n_run=8, token_budget=2048)
    assert words.override_title(fixed) == "Fix N_run 8 and B_token 2\u202f048 on all engines"
    assert words.override_title(override(kind="bypass")) == "Bypass on all engines"
    assert words.remaining(override()) == "until removed"
    assert words.remaining(override(remaining_s=61.0)) == "1 min left"
