"""Serving one gateway worker: socket, signals, drain."""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol

import uvloop
from aiohttp import web

from hmas.daemon.gateway.app import GatewayApp
from hmas.daemon.gateway.http_server import HttpServer
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.daemon.tasks import Tasks

BACKLOG: Final = 2048
CLIENT_KEEPALIVE_S: Final = 75.0
MAX_HEADER_BYTES: Final = 16_384
COLLECT_EVERY_ALLOCATIONS: Final = 50_000

_log = logging.getLogger("hmas.gateway")


class GatewayStartError(RuntimeError):
    """The gateway cannot start; the message says what to change."""


class Watcher(Protocol):
    """Who is told how a gateway stands: systemd, or the first of several processes.

    Attributes:
        watchdog_s: how often it wants to hear ``alive``; None: never.
    """

    watchdog_s: float | None

    def ready(self, status: str) -> None: ...

    def alive(self) -> None: ...

    def stopping(self) -> None: ...


def listen(host: str, port: int, *, shared: bool) -> socket.socket:
    """A listening socket, ``shared`` with other processes by SO_REUSEPORT.

    Raises:
        GatewayStartError: the address is taken or not ours.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise GatewayStartError(f"cannot listen on {host}:{port}: {error}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)  # noqa: FBT003
    except OSError as error:
        listener.close()
        raise GatewayStartError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; "
            "set gateway.host and gateway.port"
        ) from error
    return listener


@asynccontextmanager
async def serving(
    gateway: GatewayApp, listener: socket.socket, *, cut_off_s: float = 1.0
) -> AsyncIterator[None]:
    """The worker answers on ``listener`` inside this context.

    Requests that are still inside at its end are cut off after ``cut_off_s``.
    """
    async with gateway.running():
        server = HttpServer(
            gateway.handle,
            gateway.settings.max_body_bytes,
            access_log=None,
            keepalive_timeout=CLIENT_KEEPALIVE_S,
            max_field_size=MAX_HEADER_BYTES,
            max_line_size=MAX_HEADER_BYTES,
        )
        runner = web.ServerRunner(server, shutdown_timeout=cut_off_s)
        await runner.setup()
        try:
            await web.SockSite(runner, listener).start()
            yield
        finally:
            await runner.cleanup()


async def serve(gateway: GatewayApp, listener: socket.socket, watcher: Watcher) -> int:
    """Serve until SIGTERM, SIGINT or the end of the supervisor, then drain; the exit code."""
    settings = gateway.settings
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        loop.add_reader(supervisor.sentinel, stop.set)
    tasks = Tasks()
    async with serving(gateway, listener):
        host, port = listener.getsockname()[:2]
        _log.info("gateway %s listens on http://%s:%d", settings.gateway_id, host, port)
        watcher.ready("serving")
        if watcher.watchdog_s is not None:
            tasks.start(_keep_alive(watcher, watcher.watchdog_s), name="watchdog")
        await stop.wait()
        watcher.stopping()
        _log.info("draining %d requests", gateway.admission.inside)
        left = await gateway.admission.drain(settings.drain_timeout_s)
        if left:
            _log.warning("%d requests cut off after %g s", left, settings.drain_timeout_s)
    await tasks.close()
    return 0


async def _keep_alive(watcher: Watcher, interval_s: float) -> None:
    while True:
        watcher.alive()
        await asyncio.sleep(interval_s)


def run_worker(
    gateway_of: Callable[[], GatewayApp], settings: GatewaySettings, watcher: Watcher
) -> int:
    """One worker in this process, on its own event loop, until it is told to stop."""
    listener = listen(settings.host, settings.port, shared=settings.workers > 1)

    async def main() -> int:
        gateway = gateway_of()
        _freeze_garbage_collection()
        return await serve(gateway, listener, watcher)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def _freeze_garbage_collection() -> None:
    """What lives from the start on is never walked again, and the rest less often.

    A full collection in the middle of a stream is the gateway's longest pause.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY_ALLOCATIONS, 20, 50)
