"""Serves the admin API inside the daemon's event loop, or in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI

from hmas.daemon.admin.settings import AdminSettings

BACKLOG = 256


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the process that embeds it has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class AdminServer:
    """``start`` binds, so that an address in use is an error at once and early callers wait;
    ``run`` serves."""

    def __init__(self, app: FastAPI, settings: AdminSettings) -> None:
        self._settings = settings
        self._socket: socket.socket | None = None
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=5,
        )
        self._server = _Server(config)

    def start(self) -> str:
        """Bind, and return the URL.

        Raises:
            OSError: the address is in use or not ours.
        """
        family = socket.AF_INET6 if ":" in self._settings.host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((self._settings.host, self._settings.port))
            listening.listen(BACKLOG)
        except OSError:
            listening.close()
            raise
        self._socket = listening
        host = f"[{self._settings.host}]" if family is socket.AF_INET6 else self._settings.host
        return f"http://{host}:{listening.getsockname()[1]}"

    async def run(self) -> None:
        """Serve until :meth:`stop`; call :meth:`start` first."""
        assert self._socket is not None, "start() binds the socket"
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self.close()

    def run_in_thread(self) -> None:
        """Serve in an event loop of this thread; for development and tests."""
        asyncio.run(self.run())

    def stop(self) -> None:
        """Finish open requests and end :meth:`run`; may be called from any thread."""
        self._server.should_exit = True

    def close(self) -> None:
        """Give the address back when :meth:`run` was never reached."""
        if self._socket is not None:
            self._socket.close()
