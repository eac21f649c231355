"""``hmas`` in this process, alone with its own directories, and an admin API to talk to."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import Result
from pydantic import SecretStr
from typer.testing import CliRunner

from hmas.daemon.admin.app import create_app
from hmas.daemon.admin.memory_port import MemoryPort
from hmas.daemon.admin.server import AdminServer
from hmas.daemon.admin.settings import AdminSettings, AdminToken
from hmas.daemon.cli.main import app
from hmas.daemon.wire import Role

OPERATOR = "operator-token-0123456789"
VIEWER = "viewer-token-0123456789"
NOBODY = 65534


class PassingClock:
    """Half a second goes by whenever somebody asks."""

    def __init__(self) -> None:
        self._now_s = 1_790_000_000.0

    def now_s(self) -> float:
        self._now_s += 0.5
        return self._now_s


@dataclass
class Hmas:
    """The command line; knows ``state`` and ``run`` as its directories and nothing else."""

    folder: Path
    admin_port: int

    @property
    def token_file(self) -> Path:
        return self.folder / "state" / "admin.token"

    def __call__(self, *arguments: str, **environ: str) -> Result:
        mine = {
            "HOME": str(self.folder),
            "COLUMNS": "200",
            "HMAS_STATE_DIR": str(self.folder / "state"),
            "HMAS_RUNTIME_DIR": str(self.folder / "run"),
            "HMAS_ADMIN__PORT": str(self.admin_port),
        }
        foreign = dict.fromkeys(name for name in os.environ if name.startswith("HMAS_"))
        return CliRunner().invoke(app, arguments, env={**foreign, **mine, **environ})

    def json(self, *arguments: str, **environ: str) -> Any:
        """What a command that succeeds prints for programs: one JSON document, nothing else."""
        result = self(*arguments, "--json", **environ)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def says(self, exit_code: int, *arguments: str, **environ: str) -> str:
        """What a command that ends with ``exit_code`` tells people, as one line."""
        result = self(*arguments, **environ)
        assert result.exit_code == exit_code, result.output
        assert not isinstance(result.exception, Exception), result.exception
        return " ".join(result.output.split())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def hmas(tmp_path: Path) -> Hmas:
    """Without a daemon."""
    return Hmas(tmp_path, free_port())


@pytest.fixture
def powerless() -> Iterator[Hmas]:
    """Run by a user who is not root: root may read and write whatever the modes say."""
    with TemporaryDirectory() as folder:
        if os.geteuid() != 0:
            yield Hmas(Path(folder), free_port())
            return
        os.chown(folder, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield Hmas(Path(folder), free_port())
        finally:
            os.setresuid(0, 0, 0)


@pytest.fixture
def fleet() -> MemoryPort:
    return MemoryPort(PassingClock(), ("engine0", "engine1"), history_s=300)


@pytest.fixture
def one_engine() -> MemoryPort:
    return MemoryPort(PassingClock(), ("engine0",), history_s=60)


@pytest.fixture
def served(hmas: Hmas, fleet: MemoryPort) -> Iterator[Hmas]:
    """With a daemon of two engines, whose token file is in place."""
    yield from serving(hmas, fleet)


@pytest.fixture
def served_one(hmas: Hmas, one_engine: MemoryPort) -> Iterator[Hmas]:
    yield from serving(hmas, one_engine)


def serving(hmas: Hmas, port: MemoryPort) -> Iterator[Hmas]:
    tokens = (
        AdminToken(name="ada", token=SecretStr(OPERATOR)),
        AdminToken(name="vic", role=Role.VIEWER, token=SecretStr(VIEWER)),
    )
    settings = AdminSettings(port=hmas.admin_port, tokens=tokens)
    server = AdminServer(create_app(port, settings), settings)
    server.start()
    thread = threading.Thread(target=server.run_in_thread, daemon=True)
    thread.start()
    hmas.token_file.parent.mkdir()
    hmas.token_file.write_text(f"{OPERATOR}\n")
    yield hmas
    server.stop()
    thread.join(10)
