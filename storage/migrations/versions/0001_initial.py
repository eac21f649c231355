"""The first tables.

Revision: 0001, after none.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SORTED_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

TABLES = (
    "views",
    "decisions",
    "directives",
    "overrides",
    "guard_events",
    "calibration",
    "requests",
    "prompt_versions",
    "audit",
    "resume",
)


def _text(name: str, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, SORTED_TEXT, nullable=nullable)


def _json(name: str, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _real(name: str, nullable: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=nullable)


def _int(name: str, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable, autoincrement=False)


def _bool(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False)


def _table(name: str, key: list[str], *columns: sa.Column[Any]) -> None:
    op.create_table(name, *columns, sa.PrimaryKeyConstraint(*key, name=f"pk_{name}"))


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def upgrade() -> None:
    _control_tables()
    _decision_tables()
    _request_tables()
    _operator_tables()


def _control_tables() -> None:
    _table(
        "views",
        ["engine_id", "horizon", "at_s"],
        _text("engine_id"),
        _text("horizon"),
        _real("at_s"),
        _json("payload"),
    )
    _index("views", "horizon", "at_s")
    _table(
        "calibration",
        ["engine_id", "bucket"],
        _text("engine_id"),
        _int("bucket"),
        _json("errors"),
        _real("updated_at_s"),
    )
    _table(
        "resume",
        ["engine_id"],
        _text("engine_id"),
        _json("payload"),
        _real("updated_at_s"),
    )


def _decision_tables() -> None:
    _table(
        "decisions",
        ["id"],
        _text("id"),
        _text("engine_id"),
        _real("at_s"),
        _text("controller"),
        _text("role"),
        _text("outcome"),
        _text("topology", nullable=True),
        _json("hints"),
        _bool("bypass"),
        _text("reason"),
        _json("inputs"),
        _text("refusal_kind", nullable=True),
        _text("refusal_detail"),
        _json("effect", nullable=True),
    )
    _index("decisions", "at_s", "id")
    _index("decisions", "engine_id", "at_s", "id")
    _table(
        "directives",
        ["engine_id", "version"],
        _text("engine_id"),
        _int("version"),
        _real("issued_at_s"),
        _json("payload"),
        _text("owner"),
        _text("cause"),
        _text("sentence"),
        _text("ack"),
        _text("ack_reason"),
        _real("acked_at_s", nullable=True),
        _int("step", nullable=True),
    )
    _index("directives", "issued_at_s")
    _table(
        "guard_events",
        ["engine_id", "at_s", "guard", "verdict"],
        _text("engine_id"),
        _real("at_s"),
        _text("guard"),
        _text("verdict"),
        _text("topology_from", nullable=True),
        _text("topology_to", nullable=True),
        _json("detail"),
    )
    _index("guard_events", "at_s")


def _request_tables() -> None:
    _table(
        "requests",
        ["request_id", "engine_id"],
        _text("request_id"),
        _text("engine_id"),
        _text("tenant"),
        _text("task_type"),
        _real("arrival_s"),
        _real("finished_at_s"),
        _int("prompt_tokens"),
        _int("predicted_output_tokens"),
        _int("output_tokens"),
        _real("ttft_s"),
        _real("tpot_s"),
        _real("queue_s"),
        _int("preemptions"),
        _text("outcome"),
        _bool("ttft_ok"),
        _bool("tpot_ok"),
        _json("features"),
    )
    _index("requests", "finished_at_s")
    _index("requests", "engine_id", "finished_at_s")
    _index("requests", "tenant", "finished_at_s")


def _operator_tables() -> None:
    _table(
        "overrides",
        ["id"],
        _text("id"),
        _text("engine_id"),
        _text("kind"),
        _json("payload"),
        _text("reason"),
        _text("owner"),
        _real("created_at_s"),
        _real("expires_at_s", nullable=True),
        _real("revoked_at_s", nullable=True),
        _text("revoked_by", nullable=True),
    )
    _index("overrides", "engine_id", "created_at_s")
    _table(
        "prompt_versions",
        ["name", "version"],
        _text("name"),
        _int("version"),
        _text("engine_id"),
        _text("sha256"),
        _text("text"),
        _real("created_at_s"),
        _text("author"),
        _text("reason"),
        _bool("active"),
    )
    _table(
        "audit",
        ["id"],
        _text("id"),
        _text("engine_id"),
        _real("at_s"),
        _text("actor"),
        _text("action"),
        _text("target"),
        _json("inputs"),
        _text("result"),
    )
    _index("audit", "at_s", "id")
    _index("audit", "engine_id", "at_s", "id")


def downgrade() -> None:
    for name in TABLES:
        op.drop_table(name)
