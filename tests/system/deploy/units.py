"""Reads systemd units and environment files, as far as the files in deploy/ go."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
SYSTEMD = REPOSITORY / "deploy" / "systemd"

Unit = dict[str, dict[str, list[str]]]
"""Section -> key -> its values in order."""


def read_unit(path: Path) -> Unit:
    unit: Unit = {}
    section = ""
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith(("#", ";")):
            continue
        if match := re.fullmatch(r"\[(\w+)\]", line):
            section = match[1]
            continue
        name, separator, value = line.partition("=")
        assert separator, f"{path.name}: {line}"
        assert not line.endswith("\\"), f"{path.name}: continued lines are not read here"
        unit.setdefault(section, {}).setdefault(name, []).append(value)
    return unit


def service(path: Path, key: str) -> str:
    """The one value of ``key`` in ``[Service]``, else empty."""
    values = read_unit(path)["Service"].get(key, [""])
    assert len(values) == 1, f"{path.name}: {key} is given {len(values)} times"
    return values[0]


def example_environment(path: Path) -> dict[str, str]:
    """All variables that an example file shows, those that are commented out too."""
    found = {}
    for line in path.read_text().splitlines():
        if match := re.fullmatch(r"#?(?P<name>[A-Z][A-Z0-9_]*)=(?P<value>.*)", line):
            found.setdefault(match["name"], match["value"])
    return found
