"""A database connection: transactions that wait for locks and fail with a one-line error."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, DisconnectionError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool

from tunesmith.errors import MissingDependencyError, UsageError
from tunesmith.store.faults import is_lost, is_transient, moved_error, store_error
from tunesmith.store.place import Place

T = TypeVar("T")

# Ctrl-C does not interrupt SQLite's wait for a lock. So each wait is short, and `Database` repeats
# it until its patience ends. PostgreSQL's lock timeout is the same.
_WAIT_SECONDS = 0.5
_PAUSE_SECONDS = 0.05
_IDLE_SECONDS = 2.0

# SQLAlchemy does not wrap what a driver raises in a connection hook.
_ENGINE_ERRORS = (SQLAlchemyError, sqlite3.Error)

# SQLAlchemy logs what ends the closing of a connection, Ctrl-C too. Where nobody set logging up,
# that would be a traceback on standard error.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())


class Database:
    """Runs work in transactions. Do not use it after a fork: a child must open its own store.

    With ``read_only`` the database refuses whatever would change it. Every method raises
    `StoreError` if the database reports an error.
    """

    def __init__(self, place: Place, patience: float, *, read_only: bool = False) -> None:
        self.place = place
        self._patience = patience
        self._reached = False
        self._file: tuple[int, int] | None = None
        self._losses = 0
        self._lost: float | None = None  # since when the server has not answered
        self._engine = _engine(place.read_only if read_only else place)
        if read_only:
            _refuse_writes(self._engine)
        self._writer = self._engine.execution_options(writes=True)
        self._reader = self._engine
        if self.dialect == "postgresql":
            # Each of its statements sees the newest state, in a transaction or not (READ
            # COMMITTED). Without one, a look-up asks the server half as often.
            self._reader = self._engine.execution_options(isolation_level="AUTOCOMMIT")

    @property
    def dialect(self) -> str:
        """``sqlite``, ``postgresql``, …"""
        return self._engine.dialect.name

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work``, which only reads, and return its result."""
        return self._persist(lambda: _transact(self._reader, work))

    def write(
        self, work: Callable[[Connection], T], again: Callable[[Connection], T] | None = None
    ) -> T:
        """Run ``work`` in a transaction, which stores all or nothing, and return its result.

        If a lock is in the way, ``work`` is run again from the start. If the connection to a server
        is lost, it is not known whether ``work`` was stored: then ``again`` is run instead, which
        must not store anything twice. By default that is ``work`` itself.
        """
        lost_before = self._losses

        def attempt() -> T:
            self._check_file()
            lost = self._losses > lost_before
            return _transact(self._writer, again if lost and again is not None else work)

        return self._persist(attempt)

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
        """Repeat an attempt while a lock is in its way, or a server that did answer does not.

        The patience with a lost server begins when it was lost, not anew for each call.
        """
        deadline = time.monotonic() + self._patience
        while True:
            try:
                result = attempt()
            except _ENGINE_ERRORS as error:
                if self._reached and is_lost(self.place, error):
                    self._losses += 1
                    self._lost = self._lost or time.monotonic()
                    deadline = self._lost + self._patience
                elif not is_transient(error):
                    raise store_error(self.place, error) from error
                if time.monotonic() >= deadline:
                    raise store_error(self.place, error) from error
            else:
                if not self._reached:
                    self._file = _identity(self.place)
                self._reached, self._lost = True, None
                return result
            time.sleep(_PAUSE_SECONDS)

    def _check_file(self) -> None:
        """Raise `StoreError` if the file is another than before.

        SQLite does not notice: it goes on writing into the file that it has opened, whatever its
        name is now, and if it has none, all is gone with the process.
        """
        if self._file is not None:
            now = _identity(self.place)
            if now != self._file:
                how = "moved away or removed" if now is None else "replaced by another file"
                raise moved_error(self.place, how)


def _identity(place: Place) -> tuple[int, int] | None:
    """What tells a store's file from others of its name; None where there is no file."""
    try:
        found = None if place.path is None else place.path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)


def _transact(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.begin() as connection:
        return work(connection)


def _engine(place: Place) -> Engine:
    backend = place.url.get_backend_name()
    unknown = UsageError(f"store {place.name}: no such kind of database: use sqlite or postgresql")
    if backend not in ("sqlite", "postgresql"):
        raise unknown
    options: dict[str, Any] = {}
    if backend == "sqlite":
        options["connect_args"] = {"timeout": _WAIT_SECONDS, "check_same_thread": False}
    if place.in_memory:
        options["poolclass"] = StaticPool
    if backend == "postgresql":
        # Without an encoding the driver returns bytes from databases that have none. A prepared
        # statement would keep a plan from when the tables were small: in a run that goes on while
        # they grow, looking for the best would take 60 times as long.
        defaults = {"connect_timeout": 10, "client_encoding": "utf8", "prepare_threshold": None}
        given = place.url.query
        options["connect_args"] = {k: v for k, v in defaults.items() if k not in given}
    try:
        engine = create_engine(place.url, **options)
    except NoSuchModuleError as error:
        raise unknown from error
    except (ArgumentError, ValueError) as error:  # what the driver finds wrong in a URL
        server = backend == "postgresql"
        like = "postgresql://user@host/database" if server else "sqlite:///FILE, or the file alone"
        raise UsageError(
            f"store {place.name}: its URL cannot be used: write it like {like}"
        ) from error
    except ImportError as error:
        raise MissingDependencyError(
            f"store {place.name} needs the package '{error.name}', which is missing: install "
            "tunesmith[postgresql]"
        ) from error
    if backend == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", _configure_postgresql)
        event.listen(engine, "checkin", _note_idle)
        event.listen(engine, "checkout", partial(_check_idle, engine.dialect))
    return engine


def _refuse_writes(engine: Engine) -> None:
    statement = {
        "sqlite": "PRAGMA query_only=ON",
        "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    }[engine.dialect.name]

    def refuse(connection: Any, _: object) -> None:
        connection.cursor().execute(statement)
        connection.commit()

    event.listen(engine, "connect", refuse)


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


def _configure_postgresql(connection: Any, _: object) -> None:
    connection.execute(f"SET lock_timeout = {int(_WAIT_SECONDS * 1000)}")
    connection.commit()


def _note_idle(_: Any, record: ConnectionPoolEntry) -> None:
    record.info["idle since"] = time.monotonic()


def _check_idle(dialect: Dialect, connection: Any, record: ConnectionPoolEntry, _: Any) -> None:
    """Ask the server first on a connection that was idle: servers close those, and a look-up would
    take a try more. One that was in use a moment ago is there."""
    since = record.info.get("idle since", time.monotonic())
    if time.monotonic() - since > _IDLE_SECONDS:
        try:
            dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as error:
            raise DisconnectionError from error  # the pool opens another one
