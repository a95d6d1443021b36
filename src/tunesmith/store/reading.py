"""The methods of a store that only read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import Connection

from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import queries
from tunesmith.store.database import Database
from tunesmith.store.evaluations import read_evaluations
from tunesmith.store.record import Record, Runs, Session, StoredEvaluation, TaskSummary
from tunesmith.store.rows import measurement_from

T = TypeVar("T")


class Reader:
    """The queries of a `Store`. Every method raises `StoreError` as described there."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def name(self) -> str:
        """The store's file, or its URL without secrets."""
        return self._database.place.name

    @property
    def file(self) -> Path | None:
        """The store's file; None if it has none."""
        return self._database.place.path

    @property
    def in_memory(self) -> bool:
        """Whether it is in this process's memory, where no other process can see it."""
        return self._database.place.in_memory

    @property
    def folder(self) -> Path | None:
        """The folder of the store's file, for `rescue`; None if it has no file."""
        path = self._database.place.path
        return None if path is None else path.parent

    def records(
        self,
        task_key: str,
        *,
        sketch: str | None = None,
        machine: str | None = None,
        session: Session | None = None,
        play_off: bool | None = False,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> Iterator[Record]:
        """The trials of a task (or its play-offs) in the order in which they were stored, or the
        newest first; at most ``limit``, lazily.

        ``sketch`` and ``session`` narrow them down. None for ``play_off`` means trials and
        play-offs. Records stored meanwhile are not included.
        """

        def work(connection: Connection) -> Iterator[Record]:
            ids = queries.series_ids(connection, task_key, machine, sketch)
            rows = queries.in_order_of_time(
                ids,
                play_off=play_off,
                session_uid=None if session is None else session.uid,
                newest_first=newest_first,
                limit=limit,
            )
            yield from queries.read_records(connection, rows)

        return self._database.stream(work)

    def measurements(
        self,
        task_key: str,
        *,
        sketch: str = "",
        sketch_version: int = 0,
        machine: str | None = None,
    ) -> list[Measurement]:
        """All trials that a run of this sketch resumes from, oldest first; no play-offs."""

        def query(connection: Connection, ids: list[int]) -> list[Measurement]:
            rows = queries.in_order_of_time(ids, play_off=False)
            return [measurement_from(row, sketch) for row in connection.execute(rows)]

        return self._ask(query, task_key, machine, sketch, sketch_version)

    def best(
        self,
        task_key: str,
        *,
        sketch: str | None = None,
        sketch_version: int | None = None,
        among: Iterable[tuple[str, int]] | None = None,
        machine: str | None = None,
    ) -> Record | None:
        """The fastest valid record of a task, None if there is none.

        After a play-off its times decide: the record has ``play_off`` set, and its measurement is
        the play-off's. A trial wins without a play-off only if it beats all other trials and its
        config has not been in one yet. ``among`` restricts the sketches, by name and version.
        """
        chosen = [(sketch, sketch_version)] if among is None else list(among)

        def work(connection: Connection) -> Record | None:
            ids = (queries.series_ids(connection, task_key, machine, *each) for each in chosen)
            return queries.best(connection, list(chain.from_iterable(ids)))

        return self._database.read(work)

    def sketches(self, task_key: str, *, machine: str | None = None) -> list[tuple[str, int]]:
        """Name and version of each sketch of a task; the name is empty if there was none."""
        return self._ask(queries.sketches_of, task_key, machine)

    def count(self, task_key: str, *, machine: str | None = None) -> int:
        """The number of trials of a task."""
        return self._ask(queries.count, task_key, machine)

    def outcomes(
        self,
        task_key: str,
        *,
        sketch: str | None = None,
        sketch_version: int | None = None,
        machine: str | None = None,
    ) -> dict[Outcome, int]:
        """The number of trials of a task with each outcome that occurred."""
        return self._ask(queries.outcomes, task_key, machine, sketch, sketch_version)

    def measurement_of(
        self,
        task_key: str,
        config: Config,
        *,
        sketch: str = "",
        sketch_version: int = 0,
        machine: str | None = None,
    ) -> Measurement | None:
        """A config's last play-off, else its last trial, else None."""

        def query(connection: Connection, ids: list[int]) -> Measurement | None:
            row = queries.latest_of(connection, ids, config)
            return None if row is None else measurement_from(row, sketch)

        return self._ask(query, task_key, machine, sketch, sketch_version)

    def runs(self, task_key: str, *, machine: str | None = None) -> Runs:
        """The tuning runs of a task with their results, oldest first."""
        return Runs(self._ask(queries.runs_of, task_key, machine))

    def tasks(self, *, machine: str | None = None) -> list[TaskSummary]:
        """All tasks, in the order of their first sessions.

        With ``machine`` None their figures are of this machine's trials, also for a task of another
        platform.
        """
        return self._database.read(lambda connection: queries.summaries(connection, machine))

    def written(self) -> int:
        """How many records were ever written, of all machines, play-offs included; quick."""
        return self._database.read(queries.written)

    def first_session(self) -> str:
        """The identifier of the oldest session, which tells this store from others wherever its
        file is moved; empty for a store without one."""
        return self._database.read(queries.first_session)

    def sessions(self, task_key: str, *, machine: str | None = None) -> list[Session]:
        """The sessions of a task, oldest first."""
        return self._ask(queries.sessions_of, task_key, machine)

    def evaluations(self, task_key: str, *, machine: str | None = None) -> list[StoredEvaluation]:
        """The evaluations of programs with edits, oldest first."""
        return self._ask(
            lambda connection, ids: list(read_evaluations(connection, ids)), task_key, machine
        )

    def close(self) -> None:
        """Close the database. Safe to call twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(
        self,
        query: Callable[[Connection, list[int]], T],
        task_key: str,
        machine: str | None,
        sketch: str | None = None,
        sketch_version: int | None = None,
    ) -> T:
        """The result of ``query`` for the series that the other arguments select."""

        def work(connection: Connection) -> T:
            ids = queries.series_ids(connection, task_key, machine, sketch, sketch_version)
            return query(connection, ids)

        return self._database.read(work)
