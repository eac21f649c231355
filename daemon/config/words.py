"""Settings in words: type names, values as YAML writes them, secrets masked."""

from __future__ import annotations

import inspect
import json
import types
import typing
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import HttpUrl, SecretStr

from hmas.daemon.config.schema import REQUIRED, fields_of, is_section

MASK = "********"
_WORDS = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    Path: "path",
    SecretStr: "secret",
    HttpUrl: "URL",
    type(None): "null",
}


def type_words(annotation: Any) -> str:
    """The type as an operator would say it."""
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_words(arguments[0])
    if origin in (types.UnionType, typing.Union):
        return " or ".join(type_words(part) for part in arguments)
    if origin in (tuple, list):
        return f"list of {type_words(arguments[0])}"
    if origin is dict:
        return f"map of {type_words(arguments[0])} to {type_words(arguments[1])}"
    if origin is typing.Literal:
        return " | ".join(map(str, arguments))
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        return " | ".join(str(member.value) for member in annotation)
    if is_section(annotation):
        return "section"
    return _WORDS.get(annotation, getattr(annotation, "__name__", str(annotation)))


def plain(value: Any) -> Any:
    """``value`` as JSON and YAML can hold it; every secret masked."""
    if isinstance(value, SecretStr):
        return MASK
    if is_section(type(value)):
        return {name: plain(getattr(value, name)) for name in fields_of(type(value))}
    if isinstance(value, dict):
        return {str(plain(name)): plain(inner) for name, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(inner) for inner in value]
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def value_words(value: Any) -> str:
    """One line."""
    if value is REQUIRED:
        return REQUIRED
    shown = plain(value)
    return shown if isinstance(shown, str) and shown else json.dumps(shown)
