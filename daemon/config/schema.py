"""What a settings model looks like from outside: its keys, types, defaults and meanings.

Sections are pydantic models or standard dataclasses. A key's meaning is taken from its
``Field(description=...)``, the string below it, or the ``Attributes:`` of the docstring.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, SecretStr

REQUIRED: typing.Final = "required"
_DOCUMENTED = re.compile(r"^ {4}(?P<names>[a-z_0-9]+(?:, [a-z_0-9]+)*): (?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a section. ``annotation`` is resolved, ``Annotated`` included."""

    name: str
    annotation: Any
    default: object
    description: str

    @property
    def section(self) -> type[Any] | None:
        """The section that the field holds, once or many times; None: a plain value."""
        return next(
            (part for part in _parts(self.annotation) if is_section(part)),
            None,
        )

    @property
    def repeated(self) -> bool:
        return any(typing.get_origin(part) in (tuple, list) for part in _parts(self.annotation))

    @property
    def secret(self) -> bool:
        return any(part is SecretStr for part in _parts(self.annotation))


@dataclass(frozen=True, slots=True)
class Key:
    """One setting by its dotted path; ``[]`` marks what may be given many times."""

    path: str
    field: Field


def is_section(part: Any) -> bool:
    return inspect.isclass(part) and (issubclass(part, BaseModel) or dataclasses.is_dataclass(part))


def _parts(annotation: Any) -> Iterator[Any]:
    """The annotation, and everything inside its unions, tuples and ``Annotated``."""
    yield annotation
    for argument in typing.get_args(annotation):
        yield from _parts(argument)


def fields_of(section: type[Any]) -> dict[str, Field]:
    """Every field of a section in order."""
    meanings = _documented(section)
    hints = typing.get_type_hints(section, include_extras=True)
    found = {}
    for name, default, description in _declared(section):
        meaning = " ".join((description or meanings.get(name, "")).split())
        found[name] = Field(name, hints[name], default, meaning)
    return found


def _declared(section: type[Any]) -> Iterator[tuple[str, object, str]]:
    if issubclass(section, BaseModel):
        for name, info in section.model_fields.items():
            default = REQUIRED
            if not info.is_required():
                default = info.get_default(call_default_factory=True, validated_data={})
            yield name, default, info.description or ""
        return
    for item in dataclasses.fields(section):
        if item.default is not dataclasses.MISSING:
            yield item.name, item.default, ""
        elif item.default_factory is not dataclasses.MISSING:
            yield item.name, item.default_factory(), ""
        else:
            yield item.name, REQUIRED, ""


def section_at(root: type[Any], location: tuple[str | int, ...]) -> type[Any] | None:
    """The section whose keys are expected at ``location``; None when it is no such place."""
    current: type[Any] | None = root
    for step in location:
        if isinstance(step, int):
            continue
        if current is None or step not in fields_of(current):
            return None
        current = fields_of(current)[step].section
    return current


def keys_of(section: type[Any], prefix: str = "") -> Iterator[Key]:
    """Every key that can be set, in order; sections themselves only where they are lists."""
    for name, field in fields_of(section).items():
        path = f"{prefix}{name}"
        inner = field.section
        if inner is None or field.repeated:
            yield Key(path, field)
        if inner is not None:
            yield from keys_of(inner, f"{path}[]." if field.repeated else f"{path}.")


def _documented(section: type[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for base in reversed(section.__mro__):
        if is_section(base) and base is not BaseModel:
            found |= _attributes_paragraph(base.__dict__.get("__doc__") or "")
            found |= _strings_below(base)
    return found


def _attributes_paragraph(docstring: str) -> dict[str, str]:
    found: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(docstring).partition("Attributes:\n")[2].splitlines():
        if match := _DOCUMENTED.match(line):
            names = match["names"].split(", ")
            found.update(dict.fromkeys(names, match["text"]))
        elif line.startswith(" " * 8):
            found.update({name: f"{found[name]} {line.strip()}" for name in names})
        else:
            names = []
    return found


def _strings_below(section: type[Any]) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(section))
    except (OSError, TypeError):
        return {}
    body = typing.cast(ast.ClassDef, ast.parse(source).body[0]).body
    return {
        before.target.id: after.value.value
        for before, after in pairwise(body)
        if isinstance(before, ast.AnnAssign)
        and isinstance(before.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    }
