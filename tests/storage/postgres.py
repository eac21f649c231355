"""A private PostgreSQL for tests: Debian's binaries, a temporary directory, a Unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

BINARIES = Path("/usr/lib/postgresql")
_USER = "postgres"
_numbers = count(1)


def why_unavailable() -> str | None:
    """Why no server can be started here; None when one can."""
    if _binaries() is None:
        return f"no PostgreSQL server in {BINARIES}/*/bin: run 'make system-deps'"
    if os.geteuid() == 0 and _USER not in {entry.pw_name for entry in pwd.getpwall()}:
        return f"PostgreSQL refuses to run as root, and there is no user {_USER!r}"
    return None


def _binaries() -> Path | None:
    found = sorted(BINARIES.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else None


class Cluster:
    """A running server; every database it makes is empty."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{_USER}@/{database}?host={self._directory}"

    def new_database(self) -> str:
        """The URL of a database that nobody has used."""
        name = f"hmas_{next(_numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Starts a server and stops it again; ask :func:`why_unavailable` first."""
    directory = Path(tempfile.mkdtemp(prefix="hmas-pg-"))  # short: a socket path has 107 bytes
    if os.geteuid() == 0:
        shutil.chown(directory, _USER, _USER)
    data = directory / "data"
    try:
        _run("initdb", "-D", data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        options = f"-k {directory} -c listen_addresses='' -c fsync=off -c max_connections=50"
        log = directory / "log"
        _run("pg_ctl", "-D", data, "-l", log, "-w", "-t", "60", "-o", options, "start")
        try:
            yield Cluster(directory)
        finally:
            _run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run(program: str, *arguments: str | Path) -> None:
    command = [f"{_binaries()}/{program}", *map(str, arguments)]
    if os.geteuid() == 0:
        command = ["runuser", "-u", _USER, "--", *command]
    done = subprocess.run(
        command,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if program == "pg_ctl" else subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{program} failed: {done.stdout}")
