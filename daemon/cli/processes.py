"""Commands that run one program in the foreground."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hmas.daemon.cli.context import ConfigOption, UrlOption, settings_from
from hmas.daemon.cli.exits import Exit, fail
from hmas.daemon.cli.log import configure_logging
from hmas.daemon.config.problems import SettingsError
from hmas.daemon.settings import Settings, load_settings

HostOption = Annotated[str | None, typer.Option("--host", help="Address to listen on.")]
PortOption = Annotated[int | None, typer.Option("--port", help="Port to listen on.")]
RuntimeDirOption = Annotated[
    Path | None, typer.Option("--runtime-dir", help="Directory of the sockets.")
]
SCHEDULER = "hmas.engine.vllm_scheduler.PolymorphicScheduler"


def daemon(
    *,
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
    state_dir: Annotated[
        Path | None, typer.Option("--state-dir", help="Database, token, logs.")
    ] = None,
    runtime_dir: RuntimeDirOption = None,
) -> None:
    """Run the control loops and the admin API; SIGHUP reads the settings again.

    Example: hmas daemon --config /etc/hmas/hmas.yaml
    """
    from hmas.daemon.control.process import run_daemon

    flags = {
        "admin.host": host,
        "admin.port": port,
        "state_dir": state_dir,
        "runtime_dir": runtime_dir,
    }

    def read() -> Settings:
        settings = load_settings(config, flags=flags).settings
        configure_logging(settings.log)
        return settings

    settings = settings_from(config, flags).settings
    configure_logging(settings.log)
    try:
        run_daemon(settings, read)
    except SettingsError as error:
        fail(str(error), Exit.USAGE)


def gateway(
    *,
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Processes.")] = None,
    runtime_dir: RuntimeDirOption = None,
) -> None:
    """Run the OpenAI-compatible gateway in front of the engines.

    Example: hmas gateway --port 8001 --workers 2
    """
    from hmas.daemon.gateway.server import GatewayStartError
    from hmas.daemon.gateway.workers import run_gateway
    from hmas.daemon.supervise.notify import Notifier

    flags = {
        "gateway.host": host,
        "gateway.port": port,
        "gateway.workers": workers,
        "runtime_dir": runtime_dir,
    }
    settings = settings_from(config, flags).settings
    configure_logging(settings.log)
    try:
        code = run_gateway(
            settings.gateway_settings(),
            settings.runtime_dir,
            watcher=Notifier(),
            prepare_worker=partial(configure_logging, settings.log),
        )
    except GatewayStartError as error:
        fail(str(error), Exit.USAGE)
    raise typer.Exit(code)


def engine(
    context: typer.Context,
    *,
    simulate: Annotated[
        str | None, typer.Option("--simulate", metavar="PROFILE", help="Simulated hardware.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Model that vLLM loads, or name it goes by.")
    ] = None,
    vllm: Annotated[
        str, typer.Option("--vllm", help="The vllm program of an environment with H-MAS.")
    ] = "vllm",
    config: ConfigOption = None,
    runtime_dir: RuntimeDirOption = None,
) -> None:
    """Run an engine: the simulator, or vLLM with the plug-in. Other options go to it unchanged.

    Examples: hmas engine --simulate a100-qwen3-8b --port 8000;
    hmas engine --model Qwen/Qwen3-8B --max-num-seqs 64
    """
    settings = settings_from(config, {"runtime_dir": runtime_dir}).settings
    os.environ["HMAS_RUNTIME_DIR"] = str(settings.runtime_dir)
    if simulate is not None:
        from hmas.engine.simulator.server import main as serve_simulated

        configure_logging(settings.log)
        named = ["--model", model] if model else []
        raise typer.Exit(serve_simulated([simulate, *named, *context.args]))
    if model is None:
        fail("give --simulate PROFILE or --model NAME", Exit.USAGE)
    argv = [vllm, "serve", model, "--scheduler-cls", SCHEDULER, *context.args]
    try:
        os.execvp(vllm, argv)  # noqa: S606
    except OSError as error:
        fail(
            f"cannot run {vllm}: {error.strerror}",
            fix="install vLLM and hmas in one environment and name its vllm with --vllm, "
            "or use --simulate PROFILE",
        )


def console(
    *,
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
    url: UrlOption = None,
) -> None:
    """Run the operator console.

    Example: hmas console --port 8501 --url http://127.0.0.1:8002
    """
    from hmas.daemon.cli.client import admin_url

    flags = {"console.host": host, "console.port": port}
    settings = settings_from(config, flags).settings
    argv = [sys.executable, "-m", "hmas.console.run"]
    argv += ["--host", settings.console.host, "--port", str(settings.console.port)]
    argv += ["--admin-url", url or admin_url(settings)]
    os.execv(argv[0], argv)  # noqa: S606
