"""Whether a program serves yet, and whether its address is free."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit

import httpx

POLL_S = 0.1
ANSWER_S = 2.0


async def wait_until_ready(url: str) -> None:
    """Returns once ``url`` answers with a status below 500; cancel it to give up."""
    async with httpx.AsyncClient(timeout=ANSWER_S, trust_env=False) as client:
        while True:
            if await _answers(client, url):
                return
            await asyncio.sleep(POLL_S)


async def _answers(client: httpx.AsyncClient, url: str) -> bool:
    try:
        response = await client.get(url)
    except httpx.HTTPError:
        return False
    return response.status_code < 500


def is_free(host: str, port: int) -> bool:
    """Whether we could listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def address_of(url: str) -> tuple[str, int]:
    """Host and port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or (443 if parts.scheme == "https" else 80)
