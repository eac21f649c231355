"""What systemd hears."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hmas.daemon.supervise.notify import Notifier


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(path)
        server.settimeout(5)
        yield server, path


def test_messages_arrive(listening: tuple[socket.socket, str]) -> None:
    server, path = listening
    notifier = Notifier({"NOTIFY_SOCKET": path})
    notifier.ready("serving\nnow")
    notifier.alive()
    notifier.status("ok")
    notifier.stopping()
    received = [server.recv(4096).decode() for _ in range(4)]
    assert received == ["READY=1\nSTATUS=serving now", "WATCHDOG=1", "STATUS=ok", "STOPPING=1"]
    notifier.reloading()
    assert server.recv(4096).decode().startswith("RELOADING=1\nMONOTONIC_USEC=")


def test_an_abstract_socket_is_reached() -> None:
    name = f"\0hmas-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(name)
        server.settimeout(5)
        Notifier({"NOTIFY_SOCKET": f"@{name[1:]}"}).alive()
        assert server.recv(100) == b"WATCHDOG=1"


def test_without_systemd_nothing_happens() -> None:
    notifier = Notifier({})
    notifier.ready("x")
    assert notifier.watchdog_s is None


def test_a_lost_socket_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    Notifier({"NOTIFY_SOCKET": "/nowhere/notify"}).alive()
    assert "cannot notify systemd" in caplog.text


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "15000000"}, 7.5),
        ({"WATCHDOG_USEC": "15000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_is_fed_twice_as_often_as_needed(
    environ: dict[str, str], seconds: float | None
) -> None:
    assert Notifier(environ).watchdog_s == seconds
