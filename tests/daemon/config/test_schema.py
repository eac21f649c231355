"""Keys, meanings and defaults, whoever wrote the section and however it is documented."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, SecretStr

from hmas.daemon.config.schema import REQUIRED, fields_of, keys_of, section_at
from hmas.daemon.config.words import MASK, plain, type_words, value_words


class Target(BaseModel):
    """One engine.

    Attributes:
        url: where it is,
            without a slash.
        key, secret: credentials.
    """

    url: str
    key: SecretStr | None = None
    secret: SecretStr = SecretStr("hidden")


@dataclass(frozen=True)
class Gains:
    low: float = 0.5
    """Lower edge."""
    names: tuple[str, ...] = field(default=("a",))


class Root(BaseModel):
    engines: tuple[Target, ...] = ()
    gains: Gains = Gains()
    port: Annotated[int, Field(ge=1, description="where to listen")] = 1
    maybe: Target | None = None


def test_keys_come_in_order_with_lists_marked() -> None:
    assert [key.path for key in keys_of(Root)] == [
        "engines",
        "engines[].url",
        "engines[].key",
        "engines[].secret",
        "gains.low",
        "gains.names",
        "port",
        "maybe.url",
        "maybe.key",
        "maybe.secret",
    ]


@pytest.mark.parametrize(
    ("section", "name", "meaning"),
    [
        (Target, "url", "where it is, without a slash."),
        (Target, "secret", "credentials."),
        (Gains, "low", "Lower edge."),
        (Gains, "names", ""),
        (Root, "port", "where to listen"),
    ],
)
def test_meanings_are_found_wherever_they_are_written(
    section: type[object], name: str, meaning: str
) -> None:
    assert fields_of(section)[name].description == meaning


def test_defaults_and_required() -> None:
    assert fields_of(Target)["url"].default is REQUIRED
    assert fields_of(Gains)["names"].default == ("a",)
    assert fields_of(Target)["key"].secret
    assert not fields_of(Target)["url"].secret


def test_a_section_is_found_by_where_an_error_happened() -> None:
    assert section_at(Root, ()) is Root
    assert section_at(Root, ("engines", 3)) is Target
    assert section_at(Root, ("gains",)) is Gains
    assert section_at(Root, ("gains", "low")) is None
    assert section_at(Root, ("nothing", "here")) is None


def test_types_are_said_in_words() -> None:
    said = {key.path: type_words(key.field.annotation) for key in keys_of(Root)}
    assert said["engines"] == "list of section"
    assert said["engines[].key"] == "secret or null"
    assert said["port"] == "integer"
    assert said["gains.names"] == "list of text"


def test_no_secret_is_ever_shown() -> None:
    root = Root(engines=(Target(url="x", key=SecretStr("k1")),), maybe=Target(url="y"))
    shown = value_words(root)
    assert "k1" not in shown
    assert "hidden" not in shown
    assert plain(root)["maybe"] == {"url": "y", "key": None, "secret": MASK}
