"""The state of the GPU right after a trial: its clocks and temperature."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("records", sa.Column("device_state", sa.Text))
