"""Starts the console: Streamlit, headless, on loopback, talking to nobody but the admin API.

``hmas console`` runs this module with ``python -m`` (no other room may import the console).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hmas.console.settings import ENV_PREFIX

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def command(host: str, port: int) -> list[str]:
    """Streamlit's own command line; beside it, ``.streamlit/config.toml`` holds the theme."""
    options = {
        "server.headless": "true",
        "server.address": host,
        "server.port": str(port),
        "server.enableXsrfProtection": "true",
        "server.enableCORS": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    if host in LOOPBACK:
        flags += [f"--server.allowedHosts={name}" for name in ("localhost", "127.0.0.1", "[::1]")]
    app = Path(__file__).with_name("app.py")
    return [sys.executable, "-m", "streamlit", "run", str(app), *flags]


def environment(admin_url: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """What the page processes read their settings from."""
    return {**inherited, f"{ENV_PREFIX}ADMIN_URL": admin_url}


def main(
    host: str = "127.0.0.1", port: int = 8501, admin_url: str = "http://127.0.0.1:8002"
) -> None:
    """Replace this process by the console; returns only by raising OSError."""
    arguments = command(host, port)
    os.execve(arguments[0], arguments, environment(admin_url, os.environ))  # noqa: S606


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hmas.console.run", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--admin-url", default="http://127.0.0.1:8002")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    chosen = parse()
    main(chosen.host, chosen.port, chosen.admin_url)
