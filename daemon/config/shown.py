"""Settings as a table, as YAML and as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hmas.daemon.config.layers import Loaded
from hmas.daemon.config.schema import REQUIRED, Field, keys_of
from hmas.daemon.config.words import type_words, value_words
from hmas.daemon.settings import Settings

MAX_SHOWN_DEFAULT = 60
_HEAD = """\
# Settings

One YAML file (`--config FILE`, or `HMAS_CONFIG`), environment variables and flags; a flag wins
over the environment, the environment over the file. `control.cycle_s` is
`HMAS_CONTROL__CYCLE_S` in the environment; lists and maps are written there as YAML
(`HMAS_ENGINES='[{"engine_id": "engine0", "url": "http://gpu1:8000"}]'`). `HMAS_ADMIN__TOKEN` is
short for one operator's token. An unknown key is an error. `[]` marks the items of a list.

`hmas config check FILE` says all that is wrong with a file, `hmas config show` what holds and
where it came from. This page is made by `hmas config docs`.
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """One setting as it holds now; a secret is masked."""

    key: str
    value: str
    origin: str
    description: str


def held(loaded: Loaded[Settings]) -> Iterator[Shown]:
    """Every setting outside of lists, with its value and where it came from."""
    for key in keys_of(Settings):
        if "[]" in key.path:
            continue
        found, value = _value_at(loaded.settings, key.path)
        if found:
            origin = loaded.origin(key.path)
            yield Shown(key.path, value_words(value), origin, key.field.description)


def _value_at(settings: Settings, path: str) -> tuple[bool, Any]:
    """A section that is not there has no values."""
    value: Any = settings
    for name in path.split("."):
        if value is None:
            return False, None
        value = getattr(value, name)
    return True, value


def documentation() -> str:
    """The page ``docs/settings.md``."""
    lines = [_HEAD]
    section = None
    for key in keys_of(Settings):
        has_section = "." in key.path or key.field.section is not None
        first = key.path.partition(".")[0].removesuffix("[]") if has_section else ""
        if first != section and (first or section is None):
            lines += ["", f"## {first}"] if first else []
            lines += ["", "| key | type | default | meaning |", "|---|---|---|---|"]
            section = first
        lines.append(_row(key.path, key.field))
    return "\n".join(lines) + "\n"


def _row(path: str, field: Field) -> str:
    default = value_words(field.default)
    if field.default is REQUIRED:
        default = REQUIRED if "." in path else "see the meaning"
    if len(default) > MAX_SHOWN_DEFAULT:
        default = "see the keys below"
    cells = (f"`{path}`", type_words(field.annotation), f"`{default}`", field.description)
    return "| " + " | ".join(cell.replace("``", "`").replace("|", "\\|") for cell in cells) + " |"
