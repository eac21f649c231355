"""The server binds at once, serves, and ends when told."""

from __future__ import annotations

import asyncio
import socket

import httpx
import pytest
from fastapi import FastAPI

from hmas.daemon.admin.server import AdminServer
from hmas.daemon.admin.settings import AdminSettings


async def test_it_serves_until_stopped(app: FastAPI) -> None:
    server = AdminServer(app, AdminSettings(port=0))
    url = server.start()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.run())
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{url}/livez")).text == "ok\n"
        server.stop()
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(f"{url}/livez")


def test_an_address_in_use_is_an_error_at_once(app: FastAPI) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = AdminSettings(port=taken.getsockname()[1])
        with pytest.raises(OSError, match="in use"):
            AdminServer(app, settings).start()
