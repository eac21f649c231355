"""Entry point of ``hmas``."""

from __future__ import annotations

import typer

from hmas.daemon.cli import fleet, processes, up

app = typer.Typer(
    name="hmas",
    help="H-MAS: a control plane that makes multi-tenant LLM serving keep its promises.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

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


def main() -> None:
    """Run the command line; the exit code says how it ended."""
    app()


if __name__ == "__main__":
    main()
