"""The tables. A change here needs a migration in ``migrations/versions`` and a new `REVISION`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

REVISION = "0002"
"""The schema that this version of Tunesmith reads and writes: the newest migration."""

VERSION_TABLE = "tunesmith_schema"
"""Where a database says which schema it has. Not Alembic's default name: a shared PostgreSQL
database may already hold somebody else's."""

# Fixed names, so that later migrations can refer to constraints in every kind of database.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite numbers rows by itself only where the key is exactly INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")

tasks = Table(
    "tasks",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("key", Text, nullable=False),
    UniqueConstraint("key"),
)

machines = Table(
    "machines",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("description", Text, nullable=False),
    UniqueConstraint("fingerprint"),
)

# A series holds the trials that compare and that a run may resume: of one task, by one sketch at
# one version, on one kind of machine. Finding the best of a task is one index look-up a series.
series = Table(
    "series",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("task_id", _Id, ForeignKey("tasks.id"), nullable=False),
    Column("machine_id", _Id, ForeignKey("machines.id"), nullable=False),
    Column("sketch", Text, nullable=False),
    Column("sketch_version", Integer, nullable=False),
    UniqueConstraint("task_id", "machine_id", "sketch", "sketch_version"),
)

# A run over several sketches is a row of ``sessions`` with the series of its first sketch, and
# each of its records is in the series of its own.
#
# Columns that hold JSON are Text: one code path for all databases, exact round trips (PostgreSQL's
# own type refuses NaN and the NUL character), and no parsing until somebody looks.
# Instants are microseconds since 1970 in UTC: exact, and the same everywhere.
sessions = Table(
    "sessions",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("uid", Text, nullable=False),
    Column("series_id", _Id, ForeignKey("series.id"), nullable=False),
    Column("description", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("versions", Text, nullable=False),
    Column("tuner", Text, nullable=False),
    Column("tuner_settings", Text, nullable=False),
    Column("seed", Text, nullable=False),  # as digits: seeds may have more than 64 bits
    Column("budget", Text, nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("finished", BigInteger),
    Column("stopped", Text, nullable=False),
    Column("time_split", Text, nullable=False),
    UniqueConstraint("uid"),
    Index(None, "series_id"),
)

records = Table(
    "records",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("session_id", _Id, ForeignKey("sessions.id"), nullable=False),
    Column("series_id", _Id, ForeignKey("series.id"), nullable=False),
    Column("play_off", Boolean, nullable=False),
    Column("config", Text, nullable=False),
    Column("config_hash", BigInteger, nullable=False),
    Column("outcome", SmallInteger, nullable=False),
    Column("seconds", Float(53)),  # median; NULL for what can never be the best
    Column("run_seconds", Text, nullable=False),
    Column("build_time", Float(53), nullable=False),
    Column("run_time", Float(53), nullable=False),
    Column("message", Text, nullable=False),
    Column("program_hash", Text, nullable=False),
    Column("cut_off", Boolean, nullable=False),
    Column("device_state", Text),
    Column("created", BigInteger, nullable=False),
    Index(None, "series_id", "play_off", "seconds"),  # the best
    Index(None, "series_id", "config_hash"),  # has this config been in a play-off?
    Index(None, "series_id", "id"),  # in the order of time
    Index(None, "session_id", "id"),  # one run in the order of time
)
