"""``hmas up``: engine, daemon, gateway and console of one machine, supervised."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from hmas.daemon.cli.context import ConfigOption, JsonOption, out, print_json, settings_from
from hmas.daemon.cli.exits import errors, fail
from hmas.daemon.settings import Settings
from hmas.daemon.supervise.plan import (
    EngineChoice,
    EngineWish,
    admin_url,
    child_environment,
    children,
    choose_engine,
    console_url,
    gateway_url,
    machine_has_gpu,
    ports_in_use,
)
from hmas.daemon.supervise.supervisor import Change, Phase, StartError, Supervisor
from hmas.daemon.tasks import Tasks

_COLORS = {Phase.READY: "green", Phase.DIED: "yellow", Phase.FAILED: "red"}
Port = Annotated[int | None, typer.Option(min=1, max=65535)]


def up(
    context: typer.Context,
    *,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="URL", help="An engine that runs already.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model for vLLM.")] = None,
    simulate: Annotated[
        str | None, typer.Option("--simulate", metavar="PROFILE", help="Simulated hardware.")
    ] = None,
    vllm: Annotated[str | None, typer.Option("--vllm", help="Path of the vllm program.")] = None,
    engine_port: Port = None,
    gateway_port: Port = None,
    admin_port: Port = None,
    console_port: Port = None,
    no_console: Annotated[bool, typer.Option("--no-console", help="Without the console.")] = False,
    state_dir: Annotated[Path | None, typer.Option("--state-dir")] = None,
    runtime_dir: Annotated[Path | None, typer.Option("--runtime-dir")] = None,
    start_timeout: Annotated[float, typer.Option(help="Seconds until all must be ready.")] = 300.0,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Run everything on this machine, until Ctrl-C. Other options go to the engine.

    Examples: hmas up; hmas up --model Qwen/Qwen3-8B; hmas up --engine http://gpu1:8000
    """
    flags = {
        "gateway.port": gateway_port,
        "admin.port": admin_port,
        "console.port": console_port,
        "console.enabled": False if no_console else None,
        "state_dir": state_dir,
        "runtime_dir": runtime_dir,
        "engines": [{"url": f"http://127.0.0.1:{engine_port}"}] if engine_port else None,
    }
    settings = settings_from(config, flags).settings
    wish = EngineWish(engine, model, simulate, vllm, tuple(context.args))
    choice = choose_engine(wish, settings, has_gpu=machine_has_gpu())
    if taken := ports_in_use(settings, choice):
        fail("; ".join(taken), fix="stop what listens there, or choose other ports (--help)")
    environ = child_environment(settings, choice, os.environ, config)
    try:
        asyncio.run(_run(settings, choice, environ, start_timeout, json=json))
    except StartError as error:
        fail(str(error))


async def _run(
    settings: Settings,
    choice: EngineChoice,
    environ: dict[str, str],
    timeout_s: float,
    *,
    json: bool,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    errors.print(f"engine: {escape(choice.sentence)}")
    supervisor = Supervisor(children(settings, choice, environ), _tell, Tasks())
    try:
        starting = asyncio.ensure_future(supervisor.start(timeout_s))  # noqa: TID251 - awaited
        stopped = asyncio.ensure_future(stop.wait())  # noqa: TID251 - awaited
        await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if starting.done():
            starting.result()
            _announce(settings, choice, json=json)
            await supervisor.run_until(stop)
        starting.cancel()
    finally:
        await supervisor.stop()


def _tell(change: Change) -> None:
    color = _COLORS.get(change.phase, "default")
    detail = f" {escape(change.detail)}" if change.detail else ""
    errors.print(f"{change.name}: [{color}]{change.phase}[/]{detail}")


def _announce(settings: Settings, choice: EngineChoice, *, json: bool) -> None:
    addresses = {
        "gateway": f"{gateway_url(settings)}/v1",
        "admin": f"{admin_url(settings)}/hmas/v1",
        "engine": choice.url,
        "token_file": str(settings.token_file),
        "logs": str(settings.state_dir / "logs"),
    }
    if settings.console.enabled:
        addresses = {"console": console_url(settings), **addresses}
    if json:
        print_json({**addresses, "engine_kind": choice.kind, "why": choice.why})
        return
    out.print("[bold green]H-MAS is up.[/] Ctrl-C stops it.")
    for name, address in addresses.items():
        out.print(f"  {name:<11}{escape(address)}")
