"""The configs that runs are about to measure."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "claims",
        sa.Column("series_id", _Id, nullable=False),
        sa.Column("config_hash", sa.BigInteger, nullable=False),
        sa.Column("session_id", _Id, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("series_id", "config_hash", name="pk_claims"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_claims_series_id"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_claims_session_id"),
    )
    op.create_index("ix_claims_session_id", "claims", ["session_id"])
