"""URLs, permissions, transactions, and errors without passwords."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest
from sqlalchemy import text

from hmas.storage.database import Database, parsed_url, redacted
from hmas.storage.errors import RecordRefusedError, StoreUnavailableError, StoreUrlError


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("sqlite:////var/lib/hmas/hmas.db", "sqlite+pysqlite"),
        ("sqlite:///hmas.db", "sqlite+pysqlite"),
        ("postgresql://hmas@db/hmas", "postgresql+psycopg"),
        ("postgres://hmas@db/hmas", "postgresql+psycopg"),
        ("postgresql+psycopg2://hmas@db/hmas", "postgresql+psycopg"),
    ],
)
def test_urls_get_the_shipped_driver(given: str, driver: str) -> None:
    assert parsed_url(given).drivername == driver


@pytest.mark.parametrize(
    "given",
    [
        "",
        "hmas.db",
        "mysql://root:secret@db/hmas",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?uri=true",
        "sqlite+aiosqlite:///x.db",
        "postgresql://u:secret@host:port/db",
    ],
)
def test_other_urls_are_refused_with_the_fix_and_without_secrets(given: str) -> None:
    with pytest.raises(StoreUrlError, match="use sqlite:///") as refused:
        parsed_url(given)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://ana:secret@db:5432/hmas", "postgresql://ana@db:5432/hmas"),
        (
            "postgresql://db/hmas?password=secret&sslmode=require&user=ana",
            "postgresql://db/hmas?sslmode=require&user=ana",
        ),
        ("sqlite:////var/lib/hmas.db", "sqlite:////var/lib/hmas.db"),
    ],
)
def test_shown_urls_hold_no_password(given: str, shown: str) -> None:
    assert redacted(parsed_url(given)) == shown


def test_an_unreachable_server_is_unavailable_and_named_without_password() -> None:
    database = Database("postgresql://ana:s3cret@127.0.0.1:1/hmas", busy_timeout_s=2.0)
    with pytest.raises(StoreUnavailableError) as failed, database.read():
        pass
    database.dispose()
    assert "postgresql://ana@127.0.0.1:1/hmas is not available" in str(failed.value)
    assert "s3cret" not in str(failed.value)


def test_a_missing_file_and_directory_are_made_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state" / "hmas.db"
    database = Database(f"sqlite:///{path}")
    assert not database.exists()
    with database.write() as connection:
        connection.execute(text("CREATE TABLE t (a)"))
    assert database.exists()
    files = list(path.parent.iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    database.dispose()


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "hmas.db"
    path.touch(mode=0o644)
    database = Database(f"sqlite:///{path}")
    with database.read():
        pass
    database.dispose()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    database = Database(f"sqlite:///{tmp_path}/hmas.db")
    with database.read():
        pass
    database.dispose()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_directory_in_place_of_the_file_is_unavailable(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}")
    with pytest.raises(StoreUnavailableError, match=str(tmp_path)), database.read():
        pass
    database.dispose()


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "hmas.db"
    path.write_bytes(b"not a database" * 1000)
    database = Database(f"sqlite:///{path}")
    with pytest.raises(StoreUnavailableError, match="not a database"), database.read():
        pass
    database.dispose()


def test_a_write_waits_for_the_lock_then_gives_up_while_reading_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "hmas.db"
    database = Database(f"sqlite:///{path}", busy_timeout_s=0.05)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE t (a)"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailableError, match="locked"), database.write():
        pass
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM t")).scalar_one() == 0
    other.rollback()
    other.close()
    with database.write() as connection:
        connection.execute(text("INSERT INTO t VALUES (1)"))
    database.dispose()


def test_a_failed_write_leaves_nothing_behind(empty_url: str) -> None:
    database = Database(empty_url)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER NOT NULL)"))
    rows = [{"a": 1}, {"a": None}]
    with pytest.raises(RecordRefusedError), database.write() as connection:
        connection.execute(text("INSERT INTO t VALUES (:a)"), rows)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM t")).scalar_one() == 0
    database.dispose()


def test_sqlite_keeps_its_promises_across_a_power_cut(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/hmas.db")
    with database.read() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar_one() == 2
    database.dispose()
