"""Finished requests to learn from: hashed features and counts, never text.

Revision: 0003, after 0002.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLE = "training"
SORTED_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TEXTS = ("id", "engine_id", "tenant", "task_type", "model")
COUNTS = ("prompt_tokens", "predicted_output_tokens", "output_tokens")
TIMES = ("at_s", "ttft_s", "tpot_s")


def upgrade() -> None:
    op.create_table(
        TABLE,
        *(sa.Column(name, SORTED_TEXT, nullable=False) for name in TEXTS),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in COUNTS),
        *(sa.Column(name, sa.Double(), nullable=False) for name in TIMES),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=f"pk_{TABLE}"),
    )
    op.create_index(f"ix_{TABLE}_at_s_id", TABLE, ["at_s", "id"])


def downgrade() -> None:
    op.drop_table(TABLE)
