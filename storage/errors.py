"""What can go wrong with durable state; no message ever holds a password."""

from __future__ import annotations


class StorageError(Exception):
    """Base of everything this room raises on purpose."""


class StoreUrlError(StorageError):
    """The configured database URL cannot be used; the message names the fix."""


class StoreUnavailableError(StorageError):
    """The database did not answer: locked, full, down, read-only. Try again later.

    Attributes:
        url: the database, password removed.
    """

    def __init__(self, url: str, detail: str) -> None:
        super().__init__(f"database {url} is not available: {detail}")
        self.url = url
        self.detail = detail


class RecordRefusedError(StorageError):
    """One record can never be stored (wrong type, missing value, number out of range)."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind} refused: {detail}")
        self.kind = kind
        self.detail = detail


class SchemaError(StorageError):
    """The tables are not what this version works with; the message names the fix."""


class SchemaTooNewError(SchemaError):
    """A newer version of the software has upgraded this database."""


class SchemaOutdatedError(SchemaError):
    """The database still has to be upgraded."""
