"""Opening a store by URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from hmas.storage import schema
from hmas.storage.connect import MEMORY_URL, open_store
from hmas.storage.errors import SchemaOutdatedError, StoreUrlError
from hmas.storage.memory import MemoryStore
from tests.storage.support import resume


def test_memory_by_url() -> None:
    assert isinstance(open_store(MEMORY_URL), MemoryStore)


def test_a_database_is_migrated_and_kept(empty_url: str) -> None:
    store = open_store(empty_url)
    store.append([resume()])
    store.close()
    again = open_store(empty_url, migrate=False)
    assert again.resume("engine0") == resume()
    again.close()
    assert schema.current(empty_url) == schema.head()


def test_without_migration_the_tables_must_be_there(empty_url: str) -> None:
    with pytest.raises(SchemaOutdatedError, match="run 'hmas db upgrade'"):
        open_store(empty_url, migrate=False)


def test_a_foreign_url_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUrlError, match="redis"):
        open_store(f"redis://{tmp_path}")
