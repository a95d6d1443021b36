"""What came of programs with edits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "evaluations",
        sa.Column("id", _Id, nullable=False),
        sa.Column("session_id", _Id, nullable=False),
        sa.Column("series_id", _Id, nullable=False),
        sa.Column("program", sa.Text, nullable=False),
        sa.Column("edits", sa.Text, nullable=False),
        sa.Column("outcome", sa.SmallInteger, nullable=False),
        sa.Column("ratio", sa.Float(53)),
        sa.Column("seconds", sa.Float(53)),
        sa.Column("error", sa.Float(53)),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_evaluations"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_evaluations_session_id"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_evaluations_series_id"),
    )
    op.create_index("ix_evaluations_series_id_id", "evaluations", ["series_id", "id"])
