"""``hmas config``: what is set, where it came from, and what is wrong with a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from hmas.daemon.cli.context import ConfigOption, JsonOption, out, print_json, settings_from
from hmas.daemon.cli.exits import Exit, errors
from hmas.daemon.config.problems import SettingsError
from hmas.daemon.config.shown import documentation, held
from hmas.daemon.settings import load_settings

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look at settings.")


@app.command()
def show(
    *,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not default.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show every setting, its value and where it came from; secrets are masked.

    Example: hmas config show --changed --config hmas.yaml
    """
    rows = [row for row in held(settings_from(config)) if not changed or row.origin != "default"]
    if json:
        print_json([asdict(row) for row in rows])
        return
    if not rows:
        out.print("everything is at its default")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in ("key", "value", "from"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(escape(row.key), escape(row.value), escape(row.origin))
    out.print(table)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="YAML file with settings.", readable=False)],
    *,
    json: JsonOption = False,
) -> None:
    """Say all that is wrong with a file, the environment aside; exit code 1 when something is.

    Example: hmas config check /etc/hmas/hmas.yaml
    """
    problems = []
    try:
        load_settings(file, environ={"HOME": str(Path.home())})
    except SettingsError as error:
        problems = list(error.problems)
    if json:
        print_json({"ok": not problems, "problems": [asdict(problem) for problem in problems]})
    elif problems:
        for problem in problems:
            errors.print(f"[red]{escape(problem.key)}[/]: {escape(problem.message)}")
    else:
        out.print(f"[green]{escape(str(file))} can be used[/]")
    if problems:
        raise typer.Exit(Exit.FAILED)


@app.command()
def docs() -> None:
    """Print the page docs/settings.md.

    Example: hmas config docs > docs/settings.md
    """
    typer.echo(documentation(), nl=False)
