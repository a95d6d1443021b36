"""The database of measurements and all data to reproduce them, in SQLite or PostgreSQL.

Importing this package loads no database library; opening a store does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunesmith.machine import this_machine
from tunesmith.store.record import (
    ANY_MACHINE,
    Record,
    Run,
    Runs,
    Session,
    StoredEvaluation,
    TaskSummary,
)
from tunesmith.store.rescue import rescue
from tunesmith.store.versions import library_versions

if TYPE_CHECKING:
    from tunesmith.store.overview import Overview
    from tunesmith.store.store import Store

__all__ = [
    "ANY_MACHINE",
    "Record",
    "Run",
    "Runs",
    "Session",
    "Store",
    "StoredEvaluation",
    "TaskSummary",
    "library_versions",
    "open_overview",
    "open_store",
    "rescue",
    "this_machine",
]


def open_store(
    location: str | Path | None = None, *, patience: float = 30.0, create: bool = True
) -> Store:
    """Open a store and bring its schema up to date; ``create`` creates it if there is none.

    ``location`` is a SQLite file, or an SQLAlchemy URL (a string with ``://``); None is
    ``records.db`` in the user's data folder. ``patience`` is how many seconds an operation waits
    for a lock of another process.

    Raises `StoreError` if the store cannot be used, `MissingDependencyError` if the database
    driver is not installed, `UsageError` if the location is invalid, or if there is no store and
    ``create`` is false.
    """
    from tunesmith.store.database import Database
    from tunesmith.store.place import locate
    from tunesmith.store.store import Store
    from tunesmith.store.upgrade import bring_up_to_date

    place = locate(location, make_folder=create)
    if not create and not place.is_there:
        raise place.missing()  # SQLite would create an empty file
    database = Database(place, patience)
    try:
        bring_up_to_date(database, create=create)
    except BaseException:
        database.close()
        raise
    return Store(database)


def open_overview(location: str | Path | None = None, *, patience: float = 30.0) -> Overview:
    """Open a store that exists so that it cannot be changed, for `Overview`.

    ``location`` and ``patience`` are those of `open_store`, which also says what is raised; besides
    that `StoreError` if the store has the schema of an older Tunesmith.
    """
    from tunesmith.store.database import Database
    from tunesmith.store.overview import Overview
    from tunesmith.store.place import locate
    from tunesmith.store.upgrade import check_up_to_date

    place = locate(location, make_folder=False)
    if not place.is_there:
        raise place.missing()
    database = Database(place, patience, read_only=True)
    try:
        check_up_to_date(database)
    except BaseException:
        database.close()
        raise
    return Overview(database)


def __getattr__(name: str) -> Any:
    if name == "Store":
        from tunesmith.store.store import Store

        return Store
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
