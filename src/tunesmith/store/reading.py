"""What can be asked of a store: everything that writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from sqlalchemy import Connection, select

from tunesmith.machine import machine_of
from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import queries
from tunesmith.store.database import Database
from tunesmith.store.record import Record, Run, Session, TaskSummary
from tunesmith.store.rows import measurement_from
from tunesmith.store.schema import tasks


class Reader:
    """The questions that a `Store` answers. Every method raises `StoreError` as described there."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def name(self) -> str:
        """The store's file, or its URL without secrets."""
        return self._database.place.name

    @property
    def folder(self) -> Path | None:
        """The folder of the store's file, None if it has none: where to `rescue` records to."""
        path = self._database.place.path
        return None if path is None else path.parent

    def records(
        self,
        task_key: str,
        *,
        sketch: str | None = None,
        machine: str | None = None,
        session: Session | None = None,
        play_off: bool = False,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> Iterator[Record]:
        """The trials of a task as they were stored, or what its play-offs gave; lazily.

        ``sketch`` and ``session`` narrow them down. What others write meanwhile is not seen.
        """

        def work(connection: Connection) -> Iterator[Record]:
            ids = _ids(connection, task_key, machine, sketch)
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

        def work(connection: Connection) -> list[Measurement]:
            ids = _ids(connection, task_key, machine, sketch, sketch_version)
            rows = queries.in_order_of_time(ids, play_off=False)
            return [measurement_from(row) for row in connection.execute(rows)]

        return self._database.read(work)

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

        Times from play-offs decide where there was one: such a record has ``play_off`` set and
        its measurement is the one of the play-off. Only a trial that beats all trials so far and
        was in no play-off yet wins without one. ``among`` are names and versions of the only
        sketches to look at.
        """
        chosen = [(sketch, sketch_version)] if among is None else list(among)

        def work(connection: Connection) -> Record | None:
            ids = (_ids(connection, task_key, machine, *each) for each in chosen)
            return queries.best(connection, list(chain.from_iterable(ids)))

        return self._database.read(work)

    def sketches(self, task_key: str, *, machine: str | None = None) -> list[tuple[str, int]]:
        """Name and version of each sketch that a task was tuned with; a name is empty for none."""

        def work(connection: Connection) -> list[tuple[str, int]]:
            return queries.sketches_of(connection, _ids(connection, task_key, machine))

        return self._database.read(work)

    def count(self, task_key: str, *, machine: str | None = None) -> int:
        """How many trials of a task there are."""

        def work(connection: Connection) -> int:
            return queries.count(connection, _ids(connection, task_key, machine))

        return self._database.read(work)

    def outcomes(
        self,
        task_key: str,
        *,
        sketch: str | None = None,
        sketch_version: int | None = None,
        machine: str | None = None,
    ) -> dict[Outcome, int]:
        """How many trials of a task ended in each class that occurred."""

        def work(connection: Connection) -> dict[Outcome, int]:
            ids = _ids(connection, task_key, machine, sketch, sketch_version)
            return queries.outcomes(connection, ids)

        return self._database.read(work)

    def measurement_of(
        self,
        task_key: str,
        config: Config,
        *,
        sketch: str = "",
        sketch_version: int = 0,
        machine: str | None = None,
    ) -> Measurement | None:
        """What is known of a config: its last play-off, else its last trial, else None."""

        def work(connection: Connection) -> Measurement | None:
            ids = _ids(connection, task_key, machine, sketch, sketch_version)
            row = queries.latest_of(connection, ids, config)
            return None if row is None else measurement_from(row)

        return self._database.read(work)

    def runs(self, task_key: str, *, machine: str | None = None) -> list[Run]:
        """The tuning runs of a task with what they gave, oldest first."""

        def work(connection: Connection) -> list[Run]:
            ids = _ids(connection, task_key, machine)
            return queries.runs_of(connection, ids)

        return self._database.read(work)

    def tasks(self, *, machine: str | None = None) -> list[TaskSummary]:
        """All tasks, in the order in which they were first seen."""

        def work(connection: Connection) -> list[TaskSummary]:
            rows = connection.execute(select(tasks).order_by(tasks.c.id))
            return [
                queries.summary(connection, row.id, row.key, _ids(connection, row.key, machine))
                for row in rows.all()
            ]

        return self._database.read(work)

    def sessions(self, task_key: str, *, machine: str | None = None) -> list[Session]:
        """The tuning runs of a task, oldest first."""

        def work(connection: Connection) -> list[Session]:
            ids = _ids(connection, task_key, machine)
            return queries.sessions_of(connection, ids)

        return self._database.read(work)


def _ids(
    connection: Connection,
    task_key: str,
    machine: str | None,
    sketch: str | None = None,
    sketch_version: int | None = None,
) -> list[int]:
    fingerprint = machine_of(task_key)["fingerprint"] if machine is None else machine
    return queries.series_ids(
        connection,
        task_key,
        machine=fingerprint,
        sketch=sketch,
        sketch_version=sketch_version,
    )
