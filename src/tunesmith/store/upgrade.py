"""Brings a database to the schema that this version of Tunesmith works with."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Connection, func, inspect, select, text

from tunesmith.errors import StoreError
from tunesmith.store.database import Database
from tunesmith.store.schema import REVISION, VERSION_TABLE

_MIGRATIONS = Path(__file__).parent / "migrations"

# Identifies our migrations among the advisory locks of a PostgreSQL database. Any number will do.
_LOCK = 7_305_021_840_577

# Alembic keeps its context in the module, so one thread migrates at a time.
_one_at_a_time = threading.Lock()


def bring_up_to_date(database: Database, *, create: bool = True) -> None:
    """Make or migrate the tables, unless they are current: then one look is all it costs.

    Processes that do this at once wait for one another. Raises `StoreError` for a database of a
    newer Tunesmith, and for one that holds something else, `UsageError` for an empty one unless it
    may ``create`` the tables.
    """
    name = database.place.name
    revision = database.read(lambda connection: stored_revision(connection, name))
    if revision == REVISION:
        return
    if revision is None and not create:
        raise database.place.missing()
    if revision is None and database.dialect == "sqlite":
        # Readers and a writer do not block one another, and a commit needs no sync of the disk.
        # The file remembers it.
        database.outside_transaction("PRAGMA journal_mode=WAL")
    with _one_at_a_time:
        database.write(lambda connection: _migrate(connection, name))


def stored_revision(connection: Connection, name: str) -> str | None:
    """The schema that a database has, None for an empty database.

    Raises `StoreError` for a database with tables that are not ours.
    """
    # One look: between two, another process may have made the store.
    tables = inspect(connection).get_table_names()
    if VERSION_TABLE not in tables:
        if tables:
            raise StoreError(
                f"{name} is not a Tunesmith store, it holds other tables: choose another place"
            )
        return None
    row = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).first()
    return None if row is None else str(row[0])


def _migrate(connection: Connection, name: str) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    revision = stored_revision(connection, name)  # again: now nobody else can change it
    if revision == REVISION:
        return
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if revision is not None and revision not in known:
        raise StoreError(
            f"store {name} has a newer schema ({revision}) than this Tunesmith knows ({REVISION}): "
            "upgrade Tunesmith, or choose another store"
        )
    command.upgrade(config, "head")
