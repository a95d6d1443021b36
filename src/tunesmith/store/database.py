"""A database connection: transactions that wait for locks and fail with a one-line error."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.store.faults import is_transient, store_error
from tunesmith.store.place import Place

T = TypeVar("T")

# Ctrl-C does not interrupt SQLite's wait for a lock. So each wait is short, and `Database` repeats
# it until its patience ends. PostgreSQL's lock timeout is the same.
_WAIT_SECONDS = 0.5
_PAUSE_SECONDS = 0.05

# SQLAlchemy does not wrap what a driver raises in a connection hook.
_ENGINE_ERRORS = (SQLAlchemyError, sqlite3.Error)

# SQLAlchemy logs what ends the closing of a connection, Ctrl-C too. Where nobody set logging up,
# that would be a traceback on standard error.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())


class Database:
    """Runs work in transactions. Do not use it after a fork: a child must open its own store.

    Every method raises `StoreError` if the database reports an error.
    """

    def __init__(self, place: Place, patience: float) -> None:
        self.place = place
        self._patience = patience
        self._engine = _engine(place)
        self._writer = self._engine.execution_options(writes=True)

    @property
    def dialect(self) -> str:
        """``sqlite``, ``postgresql``, …"""
        return self._engine.dialect.name

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a read-only transaction, and return its result."""
        return self._persist(lambda: _transact(self._engine, work))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction, which stores all or nothing, and return its result.

        If a lock is in the way, ``work`` is run again from the start.
        """
        return self._persist(lambda: _transact(self._writer, work))

    def stream(self, work: Callable[[Connection], Iterator[T]]) -> Iterator[T]:
        """The items that ``work`` yields, lazily, from the database's state at the first item."""
        if self.place.in_memory:  # its only connection must be free while items are consumed
            yield from self.read(lambda connection: list(work(connection)))
            return
        try:
            with self._engine.connect() as connection:
                yield from work(connection)
        except _ENGINE_ERRORS as error:
            raise store_error(self.place, error) from error

    def outside_transaction(self, statement: str) -> None:
        """Run a statement that SQLite does not allow in a transaction."""

        def run() -> None:
            with closing(self._engine.raw_connection()) as connection:
                connection.cursor().execute(statement)

        self._persist(run)

    def close(self) -> None:
        """Close all connections. Safe to call twice."""
        self._engine.dispose()

    def _persist(self, attempt: Callable[[], T]) -> T:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return attempt()
            except _ENGINE_ERRORS as error:
                if not is_transient(error) or time.monotonic() >= deadline:
                    raise store_error(self.place, error) from error
            time.sleep(_PAUSE_SECONDS)


def _transact(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.begin() as connection:
        return work(connection)


def _engine(place: Place) -> Engine:
    backend = place.url.get_backend_name()
    # Servers close connections that are idle for long.
    options: dict[str, Any] = {"pool_pre_ping": backend != "sqlite"}
    if backend == "sqlite":
        options["connect_args"] = {"timeout": _WAIT_SECONDS, "check_same_thread": False}
    if place.in_memory:
        options["poolclass"] = StaticPool
    if backend == "postgresql":
        # Without an encoding the driver returns bytes from databases that have none.
        defaults = {"connect_timeout": 10, "client_encoding": "utf8"}
        given = place.url.query
        options["connect_args"] = {k: v for k, v in defaults.items() if k not in given}
    try:
        engine = create_engine(place.url, **options)
    except NoSuchModuleError as error:
        raise UsageError(
            f"store {place.name}: no such kind of database: use sqlite or postgresql"
        ) from error
    except ImportError as error:
        extra = "install tunesmith[postgresql]" if backend == "postgresql" else "install its driver"
        raise MissingDependencyError(
            f"store {place.name} needs the package '{error.name}', which is missing: {extra}"
        ) from error
    if backend == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    elif backend == "postgresql":
        event.listen(engine, "begin", _begin_postgresql)
    return engine


def _configure_sqlite(connection: sqlite3.Connection, _: object) -> None:
    # Otherwise Python's driver opens transactions by itself, too late and of the wrong kind.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys=ON")
    # With a write-ahead log, NORMAL keeps every commit when a process is killed: the system has
    # the data. A power failure may lose the last commits, but does not corrupt the database.
    connection.execute("PRAGMA synchronous=NORMAL")


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the write lock at once: a transaction that reads first and then writes fails
    # without waiting if another process wrote in between.
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_postgresql(connection: Connection) -> None:
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(_WAIT_SECONDS * 1000)}")
