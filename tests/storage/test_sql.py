"""What only a database can do wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from hmas.storage.connect import open_store
from hmas.storage.database import Database
from hmas.storage.errors import StoreUnavailableError
from hmas.storage.sql import SqlStore
from tests.storage.support import audit, directive, resume


def test_a_store_without_its_tables_is_unavailable(empty_url: str) -> None:
    store = SqlStore(empty_url)
    with pytest.raises(StoreUnavailableError, match="audit"):
        store.append([audit()])
    with pytest.raises(StoreUnavailableError, match="audit"):
        store.audit()
    store.close()


def test_a_second_connection_sees_what_the_first_has_written(empty_url: str) -> None:
    first, second = open_store(empty_url), open_store(empty_url)
    first.append([resume()])
    assert second.resume("engine0") == resume()
    first.close()
    second.close()


def test_a_closed_store_opens_again_by_itself(empty_url: str) -> None:
    store = open_store(empty_url)
    store.close()
    store.append([resume()])
    assert store.resume("engine0") == resume()
    store.close()


def test_a_row_that_other_software_has_spoilt_is_named(empty_url: str) -> None:
    store = open_store(empty_url)
    store.append([directive(1)])
    database = Database(empty_url)
    with database.write() as connection:
        connection.execute(text("UPDATE directives SET ack = 'perhaps'"))
    with pytest.raises(StoreUnavailableError, match=r"a directive was changed.*perhaps"):
        store.latest_directive("engine0")
    assert store.last_version("engine0") == 1
    database.dispose()
    store.close()


@pytest.mark.postgres
def test_a_lost_connection_is_replaced(migrated_postgres_url: str) -> None:
    store, other = SqlStore(migrated_postgres_url), SqlStore(migrated_postgres_url)
    store.append([resume()])
    with other.database.write() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    store.append([resume(updated_at_s=2.0)])
    store.close()
    other.close()


def test_a_read_only_file_is_unavailable_for_writing_only(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/hmas.db")
    open_store(f"sqlite:///{tmp_path}/hmas.db").close()
    with store.database.read() as connection:
        connection.execute(text("PRAGMA query_only=ON"))
    with pytest.raises(StoreUnavailableError, match="readonly"):
        store.append([audit()])
    assert store.audit() == []
    store.close()
