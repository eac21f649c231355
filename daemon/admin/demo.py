"""Serves the admin API over an invented fleet, for building the console.

python -m hmas.daemon.admin.demo --port 8002 --unreachable demo-2
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
from collections.abc import Sequence

from pydantic import SecretStr

from hmas.daemon.admin.app import create_app
from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.admin.server import AdminServer
from hmas.daemon.admin.settings import AdminSettings, AdminToken
from hmas.engine.clock import SystemClock


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hmas.daemon.admin.demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8002)
    parser.add_argument("--engines", nargs="+", default=["demo-0", "demo-1"])
    parser.add_argument("--unreachable", nargs="*", default=[])
    parser.add_argument("--token", default=None, help="at least 16 characters; default: random")
    return parser.parse_args(arguments)


def build(chosen: argparse.Namespace, token: str) -> AdminServer:
    port = MemoryPort(SystemClock(), chosen.engines, chosen.unreachable)
    operator = AdminToken(name="demo", token=SecretStr(token))
    settings = AdminSettings(port=chosen.port, tokens=(operator,))
    return AdminServer(create_app(port, settings), settings)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = parse(arguments)
    token = chosen.token or secrets.token_urlsafe(24)
    server = build(chosen, token)
    url = server.start()
    print(f"admin API with invented data at {url}, token {token}", flush=True)
    asyncio.run(server.run())


if __name__ == "__main__":
    main()
