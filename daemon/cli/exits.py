"""How a command ends: the exit codes scripts rely on, and errors in words."""

from __future__ import annotations

from enum import IntEnum
from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape


class Exit(IntEnum):
    """0 done, 1 failed, 2 wrong usage, 3 cannot reach."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3


errors = Console(stderr=True, highlight=False, soft_wrap=True)


def fail(message: str, code: Exit = Exit.FAILED, *, fix: str = "") -> NoReturn:
    """Say what is wrong, and what to do about it, then end."""
    errors.print(f"[bold red]error:[/] {escape(message)}")
    if fix:
        errors.print(f"[bold]fix:[/] {escape(fix)}")
    raise typer.Exit(code)
