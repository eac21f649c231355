"""One database by URL: connections, transactions, and errors that name it without password."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from time import monotonic, sleep

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DataError, IntegrityError, SQLAlchemyError

from hmas.storage.errors import RecordRefusedError, StoreUnavailableError, StoreUrlError

DEFAULT_BUSY_TIMEOUT_S = 5.0
_FIX = "use sqlite:////var/lib/hmas/hmas.db or postgresql://user@host/name"
_SECRETS = ("password", "sslpassword")
_creating = Lock()


def parsed_url(text: str) -> URL:
    """The SQLAlchemy URL of a configured one, with the driver this project ships.

    Raises:
        StoreUrlError: neither SQLite in a file nor PostgreSQL, or its driver is missing.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StoreUrlError(f"the database URL cannot be read: {_FIX}") from None
    backend = url.drivername.partition("+")[0]
    if backend in ("postgresql", "postgres"):
        return _postgres_url(url)
    if url.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise StoreUrlError(f"database {redacted(url)} is not supported: {_FIX}")
    if url.database in (None, "", ":memory:") or str(url.database).startswith("file:"):
        raise StoreUrlError(f"database {redacted(url)} names no file: {_FIX}, or memory://")
    return url.set(drivername="sqlite+pysqlite")


def _postgres_url(url: URL) -> URL:
    if find_spec("psycopg") is None:
        raise StoreUrlError(f"database {redacted(url)} needs psycopg: pip install 'hmas[postgres]'")
    return url.set(drivername="postgresql+psycopg")


def redacted(url: URL) -> str:
    """The URL without any password and without the driver's name."""
    shown = url.set(drivername=url.drivername.partition("+")[0])
    shown = shown.difference_update_query(_SECRETS)
    return URL.create(
        shown.drivername, shown.username, None, shown.host, shown.port, shown.database, shown.query
    ).render_as_string(hide_password=False)


class Database:
    """Transactions on one database; safe to use from any thread.

    A write transaction on SQLite takes the write lock when it begins (BEGIN IMMEDIATE), so it
    can wait for the lock, but not fail half-way; reading never waits for a writer (WAL).
    """

    def __init__(self, url: str, *, busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S) -> None:
        self.url = parsed_url(url)
        self.shown_url = redacted(self.url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._engine = _created_engine(self.url, busy_timeout_s, self.is_sqlite)
        self._writer = self._engine.execution_options(hmas_begin="BEGIN IMMEDIATE")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent look. Raises StoreUnavailableError."""
        with self._translated(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction. Raises StoreUnavailableError or RecordRefusedError."""
        with self._translated(), self._writer.begin() as connection:
            yield connection

    def exists(self) -> bool:
        """False only for a SQLite file that is not there yet."""
        return not self.is_sqlite or Path(str(self.url.database)).exists()

    def dispose(self) -> None:
        """Closes all idle connections."""
        self._engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DataError, IntegrityError) as error:
            raise RecordRefusedError("record", self._detail(error)) from error
        except (SQLAlchemyError, OSError) as error:
            raise StoreUnavailableError(self.shown_url, self._detail(error)) from error

    def _detail(self, error: Exception) -> str:
        cause = getattr(error, "orig", None) or error
        detail = " ".join(str(cause).split()) or type(cause).__name__
        secrets = [self.url.password, *(self.url.query.get(name) for name in _SECRETS)]
        for secret in secrets:
            if secret:
                detail = detail.replace(str(secret), "***")
        return detail


def _created_engine(url: URL, busy_timeout_s: float, is_sqlite: bool) -> Engine:
    if not is_sqlite:
        return create_engine(
            url,
            pool_pre_ping=True,
            pool_timeout=busy_timeout_s,
            hide_parameters=True,
            connect_args={"connect_timeout": max(2, round(busy_timeout_s))},
        )
    engine = create_engine(
        url,
        pool_timeout=busy_timeout_s,
        hide_parameters=True,
        connect_args={"timeout": busy_timeout_s, "check_same_thread": False},
    )
    path = Path(str(url.database))
    event.listen(engine, "do_connect", lambda *_: _prepare_file(path))
    event.listen(engine, "connect", lambda raw, _: _configure_sqlite(raw, busy_timeout_s))
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: sqlite3.Connection, busy_timeout_s: float) -> None:
    connection.isolation_level = None  # SQLAlchemy says BEGIN, sqlite3 must not
    _switch_to_wal(connection, monotonic() + busy_timeout_s)
    connection.execute("PRAGMA synchronous=FULL")


def _switch_to_wal(connection: sqlite3.Connection, deadline_s: float) -> None:
    """SQLite does not wait for its lock here when several processes open a new file."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if monotonic() > deadline_s:
                raise
            sleep(0.01)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("hmas_begin", "BEGIN"))


def _prepare_file(path: Path) -> None:
    """Makes the file (0600) and its directory (0700); SQLite's side files follow the file.

    A file that is there is not opened: closing it would drop the locks that SQLite holds on it
    anywhere in this process.
    """
    with _creating:
        for directory in reversed([path.parent, *path.parent.parents]):
            if not directory.exists():
                directory.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    status = path.stat()
    if stat.S_IMODE(status.st_mode) & 0o077 and status.st_uid == os.geteuid():
        path.chmod(0o600)
