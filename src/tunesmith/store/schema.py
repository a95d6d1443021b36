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
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

REVISION = "0004"
"""The schema that this version of Tunesmith reads and writes: the newest migration."""

VERSION_TABLE = "tunesmith_schema"
"""The table with the revision of a database's schema. It does not have Alembic's default name,
which another program may use in a shared PostgreSQL database."""

# Fixed names, so that later migrations can refer to constraints in all databases.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite numbers rows automatically only if the type of the key is exactly INTEGER.
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

# A series holds comparable trials, which a run may resume: those of one task, one sketch at one
# version, and one kind of machine. Finding the best of a task takes one index look-up per series.
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

# A run over several sketches is one row of ``sessions``, with the series of its first sketch. Each
# of its records is in the series of the record's sketch.
#
# Columns with JSON are Text: one code path for all databases, exact round trips (PostgreSQL's JSON
# type rejects NaN and the NUL character), and parsing only on demand.
# Instants are microseconds since 1970 in UTC.
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
    Column("seconds", Float(53)),  # median; NULL if it cannot be the best
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
    Index(None, "series_id", "id"),  # a series in chronological order
    Index(None, "session_id", "id"),  # a run in chronological order
)

# What came of programs with edits. ``program`` is the digest of what they make: other edits may
# make the same. NULL is an infinite number.
evaluations = Table(
    "evaluations",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("session_id", _Id, ForeignKey("sessions.id"), nullable=False),
    Column("series_id", _Id, ForeignKey("series.id"), nullable=False),
    Column("program", Text, nullable=False),
    Column("edits", Text, nullable=False),
    Column("outcome", SmallInteger, nullable=False),
    Column("ratio", Float(53)),
    Column("seconds", Float(53)),
    Column("error", Float(53)),
    Column("message", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Index(None, "series_id", "id"),
)

# The configs that runs are about to measure, so that no other run of their task does. The primary
# key makes sure that one run has a config. A claim ends with the record of its config, with its
# run, or when it expires.
claims = Table(
    "claims",
    metadata,
    Column("series_id", _Id, ForeignKey("series.id"), nullable=False),
    Column("config_hash", BigInteger, nullable=False),
    Column("session_id", _Id, ForeignKey("sessions.id"), nullable=False),
    Column("expires", BigInteger, nullable=False),
    PrimaryKeyConstraint("series_id", "config_hash"),
    Index(None, "session_id"),
)
