"""``hmas db``: the tables' version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import typer
from rich.markup import escape

from hmas.daemon.cli.context import ConfigOption, JsonOption, out, print_json, settings_from
from hmas.daemon.cli.exits import Exit, fail
from hmas.storage import schema
from hmas.storage.connect import MEMORY_URL
from hmas.storage.errors import StorageError, StoreUnavailableError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look after the database.")


@contextmanager
def _database(config: ConfigOption) -> Iterator[str]:
    """Its URL; whatever goes wrong with it ends the command in words."""
    url = settings_from(config).settings.storage_url
    if url == MEMORY_URL:
        fail("storage.url is memory://: there is no database", Exit.USAGE)
    try:
        yield url
    except StoreUnavailableError as error:
        fail(str(error), Exit.UNREACHABLE)
    except StorageError as error:
        fail(str(error))


@app.command()
def upgrade(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Bring the tables to this version; harmless when they are.

    Example: hmas db upgrade --config hmas.yaml
    """
    with _database(config) as url:
        revision = schema.upgrade(url)
    if json:
        print_json({"revision": revision})
        return
    out.print(f"the tables are at revision {escape(revision)}")


@app.command()
def current(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Say which version the tables have.

    Example: hmas db current
    """
    with _database(config) as url:
        revision = schema.current(url)
    if json:
        print_json({"revision": revision, "head": schema.head()})
        return
    out.print(escape(revision or "there are no tables yet: hmas db upgrade"))


@app.command()
def check(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Compare the tables with what this version expects; exit code 1 when they differ.

    Example: hmas db check --json
    """
    with _database(config) as url:
        found = schema.check(url)
    if json:
        print_json(msgspec.to_builtins(found))
    else:
        out.print(escape(found.sentence))
        for difference in found.differences:
            out.print(f"  {escape(difference)}")
    if not found.ok:
        raise typer.Exit(Exit.FAILED)
