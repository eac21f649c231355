"""The daemon's own sockets: private, one daemon per directory, closed without hanging."""

from __future__ import annotations

from pathlib import Path

import pytest

from hmas.daemon.config.problems import SettingsError
from hmas.daemon.control.settings import DaemonSettings
from hmas.daemon.control.sockets import DaemonSockets
from hmas.engine.link.curve import create_keys


async def test_one_daemon_per_directory(tmp_path: Path) -> None:
    first = DaemonSockets(DaemonSettings(), tmp_path / "run", lambda _: None)
    with pytest.raises(SettingsError, match="another daemon runs in"):
        DaemonSockets(DaemonSettings(), tmp_path / "run", lambda _: None)
    first.close()
    DaemonSockets(DaemonSettings(), tmp_path / "run", lambda _: None).close()


async def test_a_directory_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o777)
    with pytest.raises(SettingsError, match="chmod 700"):
        DaemonSockets(DaemonSettings(), tmp_path / "run", lambda _: None)


async def test_tcp_needs_keys(tmp_path: Path) -> None:
    settings = DaemonSettings(notices="tcp://127.0.0.1:0")
    with pytest.raises(SettingsError, match=r"links\.notices.*TCP needs CURVE keys"):
        DaemonSockets(settings, tmp_path / "run", lambda _: None)
    DaemonSockets(DaemonSettings(), tmp_path / "run", lambda _: None).close()


async def test_tcp_with_keys(tmp_path: Path) -> None:
    create_keys(tmp_path / "keys")
    settings = DaemonSettings(
        gateway_events="tcp://127.0.0.1:*", notices="tcp://127.0.0.1:*", curve_dir=tmp_path / "keys"
    )
    DaemonSockets(settings, tmp_path / "run", lambda _: None).close()


async def test_missing_keys_are_named(tmp_path: Path) -> None:
    settings = DaemonSettings(curve_dir=tmp_path / "none")
    with pytest.raises(SettingsError, match=r"server\.key"):
        DaemonSockets(settings, tmp_path / "run", lambda _: None)


async def test_sockets_left_open_by_others_do_not_hang_the_end(tmp_path: Path) -> None:
    sockets = DaemonSockets(DaemonSettings(), tmp_path / "run", lambda _: None)
    left = sockets.context.socket(5)
    left.connect(f"ipc://{tmp_path}/run/nobody")
    sockets.close()
    assert left.closed
