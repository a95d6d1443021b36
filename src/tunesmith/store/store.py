"""The store: what tuning runs write into, and what everything else reads from."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, select

from tunesmith.measurement import Measurement, Outcome
from tunesmith.space import Config
from tunesmith.store import queries
from tunesmith.store.database import Database
from tunesmith.store.machine import this_machine
from tunesmith.store.record import Record, Run, Session, TaskSummary
from tunesmith.store.rescue import read_rescued
from tunesmith.store.rows import measurement_from, to_instant, to_json_text
from tunesmith.store.schema import sessions, tasks
from tunesmith.store.versions import library_versions
from tunesmith.store.writing import (
    SessionNumbers,
    add_records,
    add_session,
    missing_rows,
)


class Store:
    """Records in a database. Made by `open_store`; closes itself at the end of a ``with``.

    Several processes may use one store at a time, each with its own `Store`: a child made by a fork
    must not use what it inherits. Every method raises `StoreError`, one line, if the database
    fails; a method that writes has then written nothing, and may be called again.

    Where a method takes ``machine``, that is a fingerprint: None means this machine, since times
    of different machines do not compare, and `ANY_MACHINE` means all of them.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers: dict[str, SessionNumbers] = {}

    @property
    def name(self) -> str:
        """The store's file, or its URL without secrets."""
        return self._database.place.name

    @property
    def folder(self) -> Path | None:
        """The folder of the store's file, None if it has none: where to `rescue` records to."""
        path = self._database.place.path
        return None if path is None else path.parent

    def begin_session(
        self,
        task_key: str,
        *,
        tuner: str,
        seed: int,
        description: Mapping[str, Any] | None = None,
        sketch: str = "",
        sketch_version: int = 0,
        target: Mapping[str, Any] | None = None,
        tuner_settings: Mapping[str, Any] | None = None,
        budget: Mapping[str, Any] | None = None,
        machine: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> Session:
        """Note that a tuning run begins; the arguments are described at `Session`.

        ``machine`` and ``versions`` are those of this process unless given. Raises `UsageError`
        for a mapping that is not JSON-ready.
        """
        session = Session(
            uid=uuid.uuid4().hex,
            task_key=task_key,
            description=description or {},
            sketch=sketch,
            sketch_version=sketch_version,
            target=target or {},
            machine=this_machine() if machine is None else machine,
            versions=library_versions() if versions is None else versions,
            tuner=tuner,
            tuner_settings=tuner_settings or {},
            seed=seed,
            budget=budget or {},
            started=datetime.now(UTC),
        )
        numbers = self._database.write(lambda connection: add_session(connection, session))
        self._numbers[session.uid] = numbers
        return session

    def append(self, session: Session, measurements: Sequence[Measurement]) -> None:
        """Store the trials of a session: in one transaction, so all of them or none."""
        self._append(session, [session.record(measurement) for measurement in measurements])

    def confirm(self, session: Session, measurements: Sequence[Measurement]) -> None:
        """Store what the play-off at the end of a session gave, one measurement a config.

        From then on these times, not those of the configs' first trials, decide which is best.
        """
        self._append(session, [session.record(it, play_off=True) for it in measurements])

    def finish_session(
        self, session: Session, *, stopped: str, time_split: Mapping[str, float] | None = None
    ) -> None:
        """Note how a run ended and where its seconds went (search, build, run, idle)."""
        split = to_json_text(time_split or {}, "time split")
        end = {"finished": to_instant(datetime.now(UTC)), "stopped": stopped, "time_split": split}

        def work(connection: Connection) -> None:
            number = add_session(connection, session).session
            connection.execute(sessions.update().where(sessions.c.id == number).values(**end))

        self._database.write(work)

    def merge(self, records: Iterable[Record]) -> int:
        """Add the records that are not here yet, with their sessions; how many those were.

        One transaction; merging the same records again adds nothing.
        """
        by_session: dict[str, list[Record]] = {}
        for record in records:
            by_session.setdefault(record.session.uid, []).append(record)

        def work(connection: Connection) -> int:
            added = 0
            for group in by_session.values():
                rows = missing_rows(connection, add_session(connection, group[0].session), group)
                add_records(connection, rows)
                added += len(rows)
            return added

        return self._database.write(work)

    def import_rescued(self, path: str | Path) -> int:
        """Add the records of a file that `rescue` wrote; how many were not here yet."""
        return self.merge(read_rescued(path))

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
        machine: str | None = None,
    ) -> Record | None:
        """The fastest valid record of a task, None if there is none.

        Times from play-offs decide where there was one: such a record has ``play_off`` set and
        its measurement is the one of the play-off. Only a trial that beats all trials so far and
        came after the last play-off wins without one. This holds for each sketch, version and
        machine by itself; the fastest of their winners is the best.
        """

        def work(connection: Connection) -> Record | None:
            return queries.best(
                connection, _ids(connection, task_key, machine, sketch, sketch_version)
            )

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

    def close(self) -> None:
        """Close the database. Safe to call twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _append(self, session: Session, records: Sequence[Record]) -> None:
        def work(connection: Connection) -> SessionNumbers:
            numbers = self._numbers.get(session.uid) or add_session(connection, session)
            add_records(connection, [numbers.row(record) for record in records])
            return numbers

        self._numbers[session.uid] = self._database.write(work)


def _ids(
    connection: Connection,
    task_key: str,
    machine: str | None,
    sketch: str | None = None,
    sketch_version: int | None = None,
) -> list[int]:
    fingerprint = this_machine()["fingerprint"] if machine is None else machine
    return queries.series_ids(
        connection,
        task_key,
        machine=fingerprint,
        sketch=sketch,
        sketch_version=sketch_version,
    )
