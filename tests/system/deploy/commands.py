"""Asks the real command line whether it knows a command, without running it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer.main
from typer.core import TyperGroup

from hmas.daemon.cli.main import app


@dataclass(frozen=True, slots=True)
class Parsed:
    """A command, its options by parameter name, and what it would pass on."""

    name: str
    options: dict[str, Any]
    passed_on: list[str]


def parse_hmas(arguments: list[str]) -> Parsed:
    """What ``hmas ARGUMENTS`` would run; fails with typer's own words when it cannot."""
    name, *rest = arguments
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    assert name in group.commands, f"there is no hmas {name}"
    context = group.commands[name].make_context(name, rest)
    return Parsed(name, context.params, context.args)
