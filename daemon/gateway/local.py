"""A gateway inside this process, on a free port: for tests and experiments."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from hmas.daemon.gateway.app import GatewayApp, Surroundings
from hmas.daemon.gateway.server import listen, serving
from hmas.daemon.gateway.settings import GatewaySettings


@dataclass(frozen=True, slots=True)
class LocalGateway:
    """A running gateway; ``url`` has no trailing slash and no ``/v1``."""

    app: GatewayApp
    url: str


@asynccontextmanager
async def local_gateway(
    settings: GatewaySettings,
    *,
    runtime_dir: Path | None = None,
    surroundings: Surroundings | None = None,
) -> AsyncIterator[LocalGateway]:
    """One worker on loopback while entered, whatever host and port ``settings`` say."""
    app = GatewayApp(settings, runtime_dir, surroundings=surroundings)
    listener = listen("127.0.0.1", 0, shared=False)
    async with serving(app, listener, cut_off_s=0.1):
        yield LocalGateway(app, f"http://127.0.0.1:{listener.getsockname()[1]}")
