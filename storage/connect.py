"""From a configured URL to a store that can be used."""

from __future__ import annotations

from typing import Final

from hmas.storage import schema
from hmas.storage.database import DEFAULT_BUSY_TIMEOUT_S
from hmas.storage.memory import MemoryStore
from hmas.storage.sql import SqlStore
from hmas.storage.store import Store

MEMORY_URL: Final = "memory://"


def open_store(
    url: str, *, migrate: bool = True, busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S
) -> Store:
    """The store behind ``url``: ``memory://``, ``sqlite:///path`` or ``postgresql://...``.

    With ``migrate`` the tables are brought to this version first, else they must be there.

    Raises:
        StoreUrlError: the URL is not one of these.
        StoreUnavailableError: the database does not answer.
        SchemaTooNewError, SchemaOutdatedError: its tables are of another version.
    """
    if url == MEMORY_URL:
        return MemoryStore()
    if migrate:
        schema.upgrade(url)
    else:
        schema.require_current(url)
    return SqlStore(url, busy_timeout_s=busy_timeout_s)
