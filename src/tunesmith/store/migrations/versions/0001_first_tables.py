"""The first tables: tasks, machines, series, sessions, records."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# Migrations import nothing from Tunesmith: the schema changes later, they must not.
_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.UniqueConstraint("key", name="uq_tasks_key"),
    )
    op.create_table(
        "machines",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.UniqueConstraint("fingerprint", name="uq_machines_fingerprint"),
    )
    _create_series()
    _create_sessions()
    _create_records()


def _create_series() -> None:
    op.create_table(
        "series",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("task_id", _ID, nullable=False),
        sa.Column("machine_id", _ID, nullable=False),
        sa.Column("sketch", sa.Text, nullable=False),
        sa.Column("sketch_version", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_series_task_id"),
        sa.ForeignKeyConstraint(["machine_id"], ["machines.id"], name="fk_series_machine_id"),
        sa.UniqueConstraint(
            "task_id",
            "machine_id",
            "sketch",
            "sketch_version",
            name="uq_series_task_id_machine_id_sketch_sketch_version",
        ),
    )


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("uid", sa.Text, nullable=False),
        sa.Column("series_id", _ID, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("versions", sa.Text, nullable=False),
        sa.Column("tuner", sa.Text, nullable=False),
        sa.Column("tuner_settings", sa.Text, nullable=False),
        sa.Column("seed", sa.Text, nullable=False),
        sa.Column("budget", sa.Text, nullable=False),
        sa.Column("started", sa.BigInteger, nullable=False),
        sa.Column("finished", sa.BigInteger),
        sa.Column("stopped", sa.Text, nullable=False),
        sa.Column("time_split", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_sessions_series_id"),
        sa.UniqueConstraint("uid", name="uq_sessions_uid"),
    )
    op.create_index("ix_sessions_series_id", "sessions", ["series_id"])


def _create_records() -> None:
    op.create_table(
        "records",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("session_id", _ID, nullable=False),
        sa.Column("series_id", _ID, nullable=False),
        sa.Column("play_off", sa.Boolean, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("config_hash", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.SmallInteger, nullable=False),
        sa.Column("seconds", sa.Float(53)),
        sa.Column("run_seconds", sa.Text, nullable=False),
        sa.Column("build_time", sa.Float(53), nullable=False),
        sa.Column("run_time", sa.Float(53), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("program_hash", sa.Text, nullable=False),
        sa.Column("cut_off", sa.Boolean, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_records_session_id"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_records_series_id"),
    )
    for columns in (
        ["series_id", "play_off", "seconds"],
        ["series_id", "config_hash"],
        ["series_id", "id"],
        ["session_id", "id"],
    ):
        op.create_index(f"ix_records_{'_'.join(columns)}", "records", columns)
