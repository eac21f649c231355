"""``hmas tag``: what the gateway would say of prompts in a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import msgspec
import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from hmas.daemon.cli.context import ConfigOption, JsonOption, out, settings_from
from hmas.daemon.cli.exits import Exit, errors, fail
from hmas.daemon.gateway.errors import ApiError
from hmas.engine.clock import SystemClock

MAX_SHOWN: Final = 20
"""Bad lines that are told one by one; the others are only counted."""

FileOption = Annotated[
    str,
    typer.Option("--file", "-f", help="JSON lines with `prompt` or `messages`; - is stdin."),
]


def tag(*, file: FileOption, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Tag prompts as the gateway would: task, SLO pair, length, the source of each answer.

    Each line is an object with `prompt` or `messages`, and maybe `model`, `max_tokens`, `tools`,
    `response_format`. With --json one object per line. Exit code 2 when a line is no request.

    Example: hmas tag --file prompts.jsonl --json
    """
    from hmas.daemon.gateway.explained import PromptTagger

    tagger = PromptTagger(settings_from(config).settings.gateway_settings(), SystemClock())
    table = _table()
    bad = 0
    with _opened(file) as lines:
        for number, line in _numbered(lines):
            try:
                found = tagger.tag(number, line)
            except ApiError as error:
                bad += 1
                _complain(number, error, bad)
                continue
            row = msgspec.to_builtins(found)
            if json:
                typer.echo(msgspec.json.encode(row))
            else:
                table.add_row(*_cells(row))
    if not json:
        out.print(table)
    if bad:
        fail(f"{bad} of the lines in {file} cannot be tagged", Exit.USAGE)


def _opened(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror or error}", Exit.USAGE)


def _numbered(lines: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers from 1; empty ones are left out."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, line.strip()


def _complain(number: int, error: ApiError, bad: int) -> None:
    if bad > MAX_SHOWN:
        return
    field = f", field {error.param}" if error.param else ""
    errors.print(f"[bold red]line {number}[/]{escape(field)}: {escape(error.message)}")


def _table() -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in ("line", "task", "p", "named by", "TTFT / TPOT ms", "prompt", "length",
                   "at most", "length from", "us"):  # fmt: skip
        table.add_column(column, justify="left" if column in LEFT else "right")
    return table


LEFT: Final = frozenset({"task", "named by", "length from"})


def _cells(row: dict[str, object]) -> tuple[str, ...]:
    source = row["source"]
    assert isinstance(source, dict)
    return (
        str(row["line"]),
        str(row["task_type"]),
        "-" if row["probability"] is None else f"{row['probability']:.2f}",
        escape(source["task"]),
        f"{row['slo_ttft_ms']:g} / {row['slo_tpot_ms']:g}",
        str(row["prompt_tokens"]),
        str(row["predicted_output_tokens"]),
        "-" if row["upper_bound"] is None else str(row["upper_bound"]),
        escape(source["length"]),
        f"{row['microseconds']:.0f}",
    )
