"""Migrations lead exactly to the tables of the code, whoever runs them and how often."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sqlalchemy import text

from hmas.storage import schema
from hmas.storage.database import Database
from hmas.storage.errors import SchemaOutdatedError, SchemaTooNewError

UPGRADE = """
import sys
from hmas.storage import schema

sys.stdin.read(1)
print(schema.upgrade(sys.argv[1]))
"""


def execute(url: str, statement: str) -> None:
    database = Database(url)
    with database.write() as connection:
        connection.execute(text(statement))
    database.dispose()


def test_an_empty_database_has_no_version_and_looking_makes_none(empty_url: str) -> None:
    assert schema.current(empty_url) is None
    found = schema.check(empty_url)
    assert not found.ok
    assert "run 'hmas db upgrade'" in found.sentence
    assert Database(empty_url).exists() is empty_url.startswith("postgresql")


def test_the_migrations_make_the_tables_of_the_code(empty_url: str) -> None:
    assert schema.upgrade(empty_url) == schema.head()
    found = schema.check(empty_url)
    assert found.differences == []
    assert found.ok
    assert found.sentence.endswith("as this version expects")
    schema.require_current(empty_url)


def test_upgrading_twice_changes_nothing(empty_url: str) -> None:
    schema.upgrade(empty_url)
    assert schema.upgrade(empty_url) == schema.current(empty_url) == schema.head()


def test_a_table_that_was_changed_by_hand_is_reported(empty_url: str) -> None:
    schema.upgrade(empty_url)
    execute(empty_url, "ALTER TABLE audit ADD COLUMN extra INTEGER")
    execute(empty_url, "DROP TABLE resume")
    found = schema.check(empty_url)
    assert not found.ok
    assert "2 differences" in found.sentence
    assert any("extra" in difference for difference in found.differences)


def test_a_newer_database_is_refused_everywhere(empty_url: str) -> None:
    schema.upgrade(empty_url)
    execute(empty_url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaTooNewError, match=r"9999, newer than .*: upgrade hmas"):
        schema.upgrade(empty_url)
    with pytest.raises(SchemaTooNewError):
        schema.require_current(empty_url)
    found = schema.check(empty_url)
    assert not found.ok
    assert "newer than" in found.sentence
    assert schema.current(empty_url) == "9999"


def test_an_older_database_says_what_to_run(empty_url: str) -> None:
    with pytest.raises(SchemaOutdatedError, match=f"none, this version needs {schema.head()}"):
        schema.require_current(empty_url)


def test_processes_that_upgrade_at_once_all_succeed(empty_url: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", UPGRADE, empty_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    results = [(*process.communicate(timeout=60), process.returncode) for process in processes]
    assert results == [(f"{schema.head()}\n", "", 0)] * 4
    assert schema.check(empty_url).ok
