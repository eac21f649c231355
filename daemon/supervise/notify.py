"""What a process tells systemd: READY, WATCHDOG, RELOADING, STOPPING (``sd_notify(3)``)."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping
from time import monotonic_ns

log = logging.getLogger(__name__)


class Notifier:
    """Writes datagrams to ``$NOTIFY_SOCKET``; without one, every call does nothing."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        path = environ.get("NOTIFY_SOCKET", "")
        self._address = f"\0{path[1:]}" if path.startswith("@") else path
        self.watchdog_s = _watchdog_s(environ)

    def ready(self, status: str) -> None:
        self._send(f"READY=1\nSTATUS={_line(status)}")

    def status(self, status: str) -> None:
        self._send(f"STATUS={_line(status)}")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def reloading(self) -> None:
        self._send(f"RELOADING=1\nMONOTONIC_USEC={monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.connect(self._address)
                out.sendall(message.encode())
        except OSError as error:
            log.warning("cannot notify systemd: %s", error)


def _watchdog_s(environ: Mapping[str, str]) -> float | None:
    """How often to be alive: half of what systemd allows; None: it does not watch us."""
    allowed = environ.get("WATCHDOG_USEC", "")
    watched = environ.get("WATCHDOG_PID", str(os.getpid()))
    if not allowed.isdigit() or int(allowed) == 0 or watched != str(os.getpid()):
        return None
    return int(allowed) / 1e6 / 2


def _line(text: str) -> str:
    return " ".join(text.split())
