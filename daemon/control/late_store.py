"""A store that may not be there yet: the daemon starts and runs without its database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from hmas.storage.records import Record
from hmas.storage.store import Store


class LateStore:
    """Opens at first use, and again after every failure to; safe from any thread."""

    def __init__(self, opening: Callable[[], Store]) -> None:
        self._opening = opening
        self._lock = Lock()
        self._store: Store | None = None

    def open(self) -> Store:
        """The store.

        Raises:
            StoreUnavailableError: the database does not answer; the next call tries again.
            StoreUrlError, SchemaError: it never will, until the settings are put right.
        """
        with self._lock:
            if self._store is None:
                self._store = self._opening()
            return self._store

    def append(self, records: Sequence[Record]) -> None:
        """For the writer thread. Raises as :meth:`open` and the store itself do."""
        self.open().append(records)

    def close(self) -> None:
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None
