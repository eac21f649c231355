"""The demo's system: engine, daemon, gateway and console under the supervision of ``hmas up``."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hmas.daemon.cli.client import AdminClient, admin_token
from hmas.daemon.settings import Settings, load_settings
from hmas.daemon.supervise.plan import (
    EngineChoice,
    EngineWish,
    admin_url,
    child_environment,
    children,
    choose_engine,
    console_url,
    first_engine,
    gateway_url,
)
from hmas.daemon.supervise.probe import is_free
from hmas.daemon.supervise.supervisor import Change, Supervisor
from hmas.daemon.tasks import Tasks

HOST = "127.0.0.1"
DEFAULT_PORTS = {"engine": 8000, "gateway": 8001, "admin": 8002, "console": 8501}
START_TIMEOUT_S = 90.0
META_S = 20.0
"""The slow loop's period in the demo: a minute-long run would see the default of 60 s once."""

Tell = Callable[[Change], None]


@dataclass(frozen=True, slots=True)
class DemoSystem:
    """A running system and how to reach its parts."""

    settings: Settings
    choice: EngineChoice
    api_key: str
    supervisor: Supervisor
    config: Path

    @property
    def invitation(self) -> str:
        """Where to look and what to type, for as long as all of it runs."""
        return (
            f"running until Ctrl-C; console: {self.console_url}, log in with the token in "
            f"{self.settings.token_file}\ncommand line: hmas status --config {self.config}"
        )

    @property
    def gateway_url(self) -> str:
        return gateway_url(self.settings)

    @property
    def console_url(self) -> str:
        return console_url(self.settings)

    @property
    def engine_id(self) -> str:
        return first_engine(self.settings).engine_id

    def admin(self) -> AdminClient:
        return AdminClient(admin_url(self.settings), admin_token(self.settings))


def free_ports(wanted: Mapping[str, int]) -> dict[str, int]:
    """The wanted ports where they are free, others elsewhere; all different."""
    ports: dict[str, int] = {}
    for name, port in wanted.items():
        ports[name] = port if is_free(HOST, port) else _any_port(set(ports.values()))
    return ports


def _any_port(taken: set[int]) -> int:
    while True:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port: int = probe.getsockname()[1]
        if port not in taken:
            return port


def settings_tree(folder: Path, ports: Mapping[str, int], api_key: str) -> dict[str, Any]:
    """The demo's configuration file. The key is trusted: the load generator names tenants."""
    return {
        "runtime_dir": str(folder / "run"),
        "state_dir": str(folder / "state"),
        "engines": [{"url": f"http://{HOST}:{ports['engine']}"}],
        "gateway": {
            "port": ports["gateway"],
            "access_log": False,
            "drain_timeout_s": 1.0,
            "keys": [{"key": api_key, "tenant": "demo", "trusted": True}],
        },
        "admin": {"port": ports["admin"]},
        "console": {"port": ports["console"]},
        "control": {"meta_s": META_S, "first_meta_s": META_S / 2},
    }


@asynccontextmanager
async def running_system(
    folder: Path, profile: str, speed: float, tell: Tell
) -> AsyncIterator[DemoSystem]:
    """Everything started and ready; stopped in order at the end.

    Raises:
        StartError: a part does not come up (with the end of its log).
    """
    api_key = f"demo-{secrets.token_hex(8)}"
    config = folder / "hmas.yaml"
    tree = settings_tree(folder, free_ports(DEFAULT_PORTS), api_key)
    config.write_text(yaml.safe_dump(tree), encoding="utf-8")
    config.chmod(0o600)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HMAS_")}
    settings = load_settings(config, environ=environ).settings
    wish = EngineWish(profile=profile, extra=("--speed", f"{speed:g}"))
    choice = choose_engine(wish, settings, has_gpu=False)
    specs = children(settings, choice, child_environment(settings, choice, environ, config))
    supervisor = Supervisor(specs, tell, Tasks())
    try:
        await supervisor.start(START_TIMEOUT_S)
        yield DemoSystem(settings, choice, api_key, supervisor, config)
    finally:
        await asyncio.shield(supervisor.stop())
