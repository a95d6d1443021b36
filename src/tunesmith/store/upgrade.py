"""Creates a database's tables, or migrates them to the current schema."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Connection, func, inspect, select, text

from tunesmith.errors import StoreError
from tunesmith.store.database import Database
from tunesmith.store.schema import REVISION, VERSION_TABLE

_MIGRATIONS = Path(__file__).parent / "migrations"

# Our advisory lock in a PostgreSQL database: an arbitrary number.
_LOCK = 7_305_021_840_577

# Alembic's context is global, so only one thread may migrate at a time.
_one_at_a_time = threading.Lock()


def bring_up_to_date(database: Database, *, create: bool = True) -> None:
    """Create or migrate the tables. If they are current, this costs one query.

    Processes that do this at the same time wait for each other. Raises `StoreError` for a database
    of a newer Tunesmith or with other tables, `UsageError` for an empty one unless ``create``.
    """
    name = database.place.name
    revision = database.read(lambda connection: stored_revision(connection, name))
    if revision == REVISION:
        return
    if revision is None and not create:
        raise database.place.missing()
    if revision is None and database.dialect == "sqlite":
        # With a write-ahead log readers and a writer do not block each other, and a commit does not
        # sync the disk. The setting is stored in the file.
        database.outside_transaction("PRAGMA journal_mode=WAL")
    with _one_at_a_time:
        database.write(lambda connection: _migrate(connection, name))


def check_up_to_date(database: Database) -> None:
    """Raise unless the tables are those of this version, for who must not change them.

    Raises `UsageError` for a database without tables, `StoreError` for one of another version of
    Tunesmith or with other tables.
    """
    name = database.place.name
    revision = database.read(lambda connection: stored_revision(connection, name))
    if revision is None:
        raise database.place.missing()
    if revision > REVISION:  # they are numbered in order
        raise _newer(name, revision)
    if revision != REVISION:
        raise StoreError(
            f"store {name} has the schema of an older Tunesmith ({revision}): 'tunesmith history "
            f"--store {name}' brings it up to date"
        )


def _newer(name: str, revision: str) -> StoreError:
    return StoreError(
        f"store {name} has a newer schema ({revision}) than this Tunesmith knows ({REVISION}): "
        "upgrade Tunesmith, or choose another store"
    )


def stored_revision(connection: Connection, name: str) -> str | None:
    """The revision of a database's schema, None for an empty database.

    Raises `StoreError` for a database that has only other tables.
    """
    # A single query: between two, another process might create the store.
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
    revision = stored_revision(connection, name)  # again, now that no other process can change it
    if revision == REVISION:
        return
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if revision is not None and revision not in known:
        raise _newer(name, revision)
    command.upgrade(config, "head")
