"""The tables' version: upgrade, say which one is there, compare with the code.

Migrations are shipped inside the package. ``hmas db upgrade|current|check`` call this. Alembic is
imported where it is used: the command line imports this module for every command.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from sqlalchemy import Connection, text

from hmas.storage.database import Database
from hmas.storage.errors import SchemaOutdatedError, SchemaTooNewError
from hmas.storage.tables import Row

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_LOCK_ID: Final = 4207_6345
"""Key of the PostgreSQL advisory lock that upgrades take; any fixed number will do."""
_LOCK_TIMEOUT_S: Final = 60.0


class SchemaCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the tables are what the code expects; ``sentence`` says it for a person."""

    ok: bool
    current: str | None
    head: str
    differences: list[str]
    sentence: str


def head() -> str:
    """The newest revision that this version knows."""
    revision = _scripts().get_current_head()
    if revision is None:
        raise RuntimeError(f"no migrations in {_MIGRATIONS}")
    return revision


def current(url: str) -> str | None:
    """The revision of the database, None when it has no tables of ours yet.

    Raises:
        StoreUnavailableError, StoreUrlError
    """
    database = Database(url)
    try:
        return _current(database)
    finally:
        database.dispose()


def upgrade(url: str) -> str:
    """Brings the tables to :func:`head` and returns it; safe when several processes do it.

    Raises:
        SchemaTooNewError: a newer version of the software has been here.
        StoreUnavailableError, StoreUrlError
    """
    from alembic import command

    database = Database(url, busy_timeout_s=_LOCK_TIMEOUT_S)
    try:
        with database.write() as connection:
            if not database.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": _LOCK_ID})
            _refuse_unknown(_revision(connection), database.shown_url)
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        database.dispose()
    return head()


def require_current(url: str) -> None:
    """Raises SchemaOutdatedError or SchemaTooNewError, with the command that helps."""
    database = Database(url)
    try:
        revision = _current(database)
    finally:
        database.dispose()
    _refuse_unknown(revision, database.shown_url)
    if revision != head():
        raise SchemaOutdatedError(
            f"database {database.shown_url} is at schema {revision or 'none'}, "
            f"this version needs {head()}: run 'hmas db upgrade'"
        )


def check(url: str) -> SchemaCheck:
    """Compares the database with the code, table by table.

    Raises:
        StoreUnavailableError, StoreUrlError
    """
    database = Database(url)
    revision, differences = None, ["the database file is not there"]
    try:
        if database.exists():
            with database.read() as connection:
                revision, differences = _revision(connection), _differences(connection)
    finally:
        database.dispose()
    return _checked(revision, differences, database.shown_url)


def _checked(revision: str | None, differences: list[str], shown_url: str) -> SchemaCheck:
    ok = revision == head() and not differences
    sentence = f"database {shown_url} is at schema {revision or 'none'}"
    if ok:
        sentence += ", as this version expects"
    elif _is_unknown(revision):
        sentence += f", newer than {head()}, the newest that this version knows: upgrade hmas"
    else:
        sentence += f", expected {head()}, {len(differences)} differences: run 'hmas db upgrade'"
    return SchemaCheck(
        ok=ok, current=revision, head=head(), differences=differences, sentence=sentence
    )


def _current(database: Database) -> str | None:
    if not database.exists():
        return None
    with database.read() as connection:
        return _revision(connection)


def _revision(connection: Connection) -> str | None:
    from alembic.migration import MigrationContext

    return MigrationContext.configure(connection).get_current_revision()


def _differences(connection: Connection) -> list[str]:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return [repr(difference) for difference in compare_metadata(context, Row.metadata)]


def _is_unknown(revision: str | None) -> bool:
    known = {script.revision for script in _scripts().walk_revisions()}
    return revision is not None and revision not in known


def _refuse_unknown(revision: str | None, shown_url: str) -> None:
    if _is_unknown(revision):
        raise SchemaTooNewError(
            f"database {shown_url} is at schema {revision}, newer than {head()}, the newest that "
            "this version knows: upgrade hmas, or restore a backup from before the upgrade"
        )


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _scripts() -> ScriptDirectory:
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_config())
