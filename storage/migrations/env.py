"""Alembic's entry: runs migrations on the connection that ``hmas.storage.schema`` opened.

The caller holds the lock and the transaction, so two upgrades at once run one after the other.
"""

from __future__ import annotations

from alembic import context

from hmas.storage.tables import Row

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Row.metadata,
    compare_type=True,
    render_as_batch=True,
)
context.run_migrations()
