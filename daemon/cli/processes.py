"""Commands that run one program in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hmas.daemon.cli.context import ConfigOption, settings_from
from hmas.daemon.cli.exits import Exit, fail
from hmas.daemon.cli.log import configure_logging
from hmas.daemon.config.problems import SettingsError
from hmas.daemon.settings import Settings, load_settings


def daemon(
    *,
    config: ConfigOption = None,
    host: Annotated[str | None, typer.Option(help="Address of the admin API.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the admin API.")] = None,
    state_dir: Annotated[Path | None, typer.Option(help="Database, token, logs.")] = None,
    runtime_dir: Annotated[Path | None, typer.Option(help="Sockets.")] = None,
) -> None:
    """Run the control loops and the admin API.

    SIGHUP reads the settings again. Example: hmas daemon --config /etc/hmas/hmas.yaml
    """
    from hmas.daemon.control.process import run_daemon

    flags = {
        "admin.host": host,
        "admin.port": port,
        "state_dir": state_dir,
        "runtime_dir": runtime_dir,
    }

    def read() -> Settings:
        return load_settings(config, flags=flags).settings

    settings = settings_from(config, flags).settings
    configure_logging(settings.log)
    try:
        run_daemon(settings, read)
    except SettingsError as error:
        fail(str(error), Exit.USAGE)
