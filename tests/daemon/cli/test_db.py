"""``hmas db``: the tables of a database that is there, missing, foreign or broken."""

from __future__ import annotations

import sqlite3

import pytest

from hmas.storage import schema
from tests.daemon.cli.conftest import Hmas


def test_tables_are_made_and_checked(hmas: Hmas) -> None:
    (hmas.folder / "state").mkdir()
    assert "hmas db upgrade" in hmas.says(0, "db", "current")
    assert hmas.json("db", "upgrade") == {"revision": schema.head()}
    assert hmas.json("db", "upgrade") == {"revision": schema.head()}, "harmless the second time"
    assert hmas.json("db", "current") == {"revision": schema.head(), "head": schema.head()}
    assert hmas.json("db", "check")["ok"] is True
    assert hmas.says(0, "db", "check")


def test_a_table_that_is_gone_is_named(hmas: Hmas) -> None:
    hmas.says(0, "db", "upgrade")
    with sqlite3.connect(hmas.folder / "state" / "hmas.db") as connection:
        connection.execute("DROP TABLE audit")
    connection.close()
    assert "audit" in hmas.says(1, "db", "check")


@pytest.mark.parametrize("command", ["upgrade", "current", "check"])
def test_a_corrupt_database_is_an_error_in_words(command: str, hmas: Hmas) -> None:
    file = hmas.folder / "state" / "hmas.db"
    file.parent.mkdir()
    file.write_bytes(b"this is no database " * 200)
    result = hmas("db", command)
    assert result.exit_code in (1, 3)
    assert "not a database" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["upgrade", "current", "check"])
def test_a_server_that_does_not_answer_is_exit_code_3(command: str, hmas: Hmas) -> None:
    url = f"postgresql://nobody:hidden@127.0.0.1:{hmas.admin_port}/hmas"
    said = hmas.says(3, "db", command, HMAS_STORAGE__URL=url)
    assert "hidden" not in said


def test_memory_has_no_tables(hmas: Hmas) -> None:
    said = hmas.says(2, "db", "current", HMAS_STORAGE__URL="memory://")
    assert "storage.url is memory://" in said


def test_a_read_only_directory_is_named(powerless: Hmas) -> None:
    state = powerless.folder / "state"
    state.mkdir(mode=0o500)
    assert str(state) in powerless.says(3, "db", "upgrade")
