"""What commands share: options, settings, the client, output for people and for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from pydantic import BaseModel
from rich.console import Console

from hmas.daemon.cli.client import AdminClient, AdminError, admin_token, admin_url, is_local
from hmas.daemon.cli.exits import Exit, fail
from hmas.daemon.config.layers import Loaded
from hmas.daemon.config.problems import SettingsError
from hmas.daemon.settings import Settings, load_settings

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="YAML file with settings.", envvar="HMAS_CONFIG"),
]


def _checked_url(url: str | None) -> str | None:
    try:
        parts = urlsplit(url or "")
        is_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_url = False
    if url is not None and not is_url:
        raise typer.BadParameter(f"{url!r} is no URL; write it like http://127.0.0.1:8002")
    return url


UrlOption = Annotated[
    str | None,
    typer.Option("--url", callback=_checked_url, help="Admin API, like http://127.0.0.1:8002."),
]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", help="Token; default: HMAS_ADMIN__TOKEN, or this machine's own."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

WIDTH_OF_FILES = 140
out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_FILES)


def settings_from(config: Path | None, flags: dict[str, Any] | None = None) -> Loaded[Settings]:
    """The settings, or the end of the command."""
    try:
        return load_settings(config, flags=flags)
    except SettingsError as error:
        fail(f"the settings cannot be used:\n{error}", Exit.USAGE)


@contextmanager
def admin(config: Path | None, url: str | None, token: str | None) -> Iterator[AdminClient]:
    """A client; whatever goes wrong with it ends the command in words."""
    settings = settings_from(config).settings
    if token is None and (url is None or is_local(url)):
        token = admin_token(settings)
    client = AdminClient(url or admin_url(settings), token)
    try:
        yield client
    except AdminError as error:
        fail(str(error), error.code, fix=error.fix)
    finally:
        client.close()


def print_json(value: Any) -> None:
    """One JSON document on standard output, and nothing else."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    elif isinstance(value, (list, tuple)):
        value = [v.model_dump(mode="json") if isinstance(v, BaseModel) else v for v in value]
    typer.echo(json.dumps(value, indent=2))
