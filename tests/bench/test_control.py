from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.bench.control import HMAS, STOCK, ControlKind, ControlSpec, parse_control


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("stock", STOCK),
        ("hmas", HMAS),
        ("static:edf:512", ControlSpec(ControlKind.STATIC, "edf", 512)),
    ],
)
def test_every_form_is_read_and_written_back(text: str, spec: ControlSpec) -> None:
    assert parse_control(text) == spec
    assert str(spec) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected stock, hmas or static"),
        ("stock:1", "expected stock"),
        ("static:edf", "expected stock"),
        ("static:lifo:512", "unknown topology 'lifo'.*edf"),
        ("static:edf:many", "'many' is not a whole number"),
        ("static:edf:0", "'0' is not a whole number"),
        ("static:edf:-5", "'-5' is not a whole number"),
    ],
)
def test_errors_say_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_control(text)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        spec = parse_control(text)
    except ValueError:
        return
    assert parse_control(str(spec)) == spec
