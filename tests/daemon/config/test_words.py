"""Values and types in words, whatever they are."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, HttpUrl, SecretStr

from hmas.daemon.config.schema import REQUIRED
from hmas.daemon.config.words import MASK, plain, type_words, value_words


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "integer"),
        (Annotated[float, Field(gt=0)], "number"),
        (Path | None, "path or null"),
        (tuple[str, ...], "list of text"),
        (list[HttpUrl], "list of URL"),
        (dict[str, bool], "map of text to true or false"),
        (Literal["text", "json"], "text | json"),
        (Color, "red | blue"),
        (SecretStr, "secret"),
        (bytes, "bytes"),
    ],
)
def test_types(annotation: object, words: str) -> None:
    assert type_words(annotation) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true"),
        (0.25, "0.25"),
        ("", '""'),
        ("text", "text"),
        (Path("/run/hmas"), "/run/hmas"),
        (Color.BLUE, "blue"),
        (("a", 1), '["a", 1]'),
        ({Color.RED: SecretStr("s")}, f'{{"red": "{MASK}"}}'),
        (REQUIRED, REQUIRED),
    ],
)
def test_values(value: object, words: str) -> None:
    assert value_words(value) == words


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.text(min_size=9).map(SecretStr),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_everything_can_be_written_as_json_and_only_once(value: object) -> None:
    shown = plain(value)
    assert json.loads(json.dumps(shown)) == shown
    assert plain(shown) == shown


@given(st.text(alphabet="abcdef0123456789", min_size=12))
def test_a_secret_is_masked_however_deep(secret: str) -> None:
    assert secret not in value_words({"keys": [{"key": (SecretStr(secret),)}]})
