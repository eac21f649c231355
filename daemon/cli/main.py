"""Entry point of ``hmas``."""

from __future__ import annotations

import platform
from typing import Any

import typer

import hmas
from hmas.daemon.cli import bench, config, db, doctor, fleet, processes, tag, train, up
from hmas.daemon.cli.context import JsonOption, out, print_json

PASS_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Options that a command does not know go to the program that it starts."""
PASS_ALL_ON: dict[str, Any] = PASS_ON | {"help_option_names": []}

app = typer.Typer(
    name="hmas",
    help="H-MAS: a control plane that makes multi-tenant LLM serving keep its promises.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version(*, json: JsonOption = False) -> None:
    """Print the version.

    Example: hmas version
    """
    if json:
        print_json({"hmas": hmas.__version__, "python": platform.python_version()})
        return
    out.print(f"hmas {hmas.__version__}")


app.command(context_settings=PASS_ON)(up.up)
app.command()(processes.gateway)
app.command()(processes.daemon)
app.command(context_settings=PASS_ON)(processes.engine)
app.command()(processes.console)
app.command()(fleet.status)
app.command()(fleet.topology)
app.command()(fleet.pin)
app.command()(fleet.unpin)
app.command("set")(fleet.set_controls)
app.command()(fleet.bypass)
app.command()(fleet.decisions)
app.command(context_settings=PASS_ALL_ON)(bench.replay)
app.command(context_settings=PASS_ON)(bench.bench)
app.command()(tag.tag)
app.add_typer(train.app, name="train")
app.add_typer(config.app, name="config")
app.add_typer(db.app, name="db")
app.command()(doctor.doctor)
app.command()(version)


def main() -> None:
    """Run the command line; the exit code says how it ended."""
    app()


if __name__ == "__main__":
    main()
