"""Which directive a decision or an override led to is looked up by its cause.

Revision: 0002, after 0001.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

INDEX = "ix_directives_cause"


def upgrade() -> None:
    op.create_index(INDEX, "directives", ["cause"])


def downgrade() -> None:
    op.drop_index(INDEX, "directives")
