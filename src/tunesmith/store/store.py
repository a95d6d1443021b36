"""The store, with the methods that write."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection

from tunesmith.machine import machine_of
from tunesmith.measurement import Measurement
from tunesmith.store.database import Database
from tunesmith.store.evaluations import evaluation_row
from tunesmith.store.reading import Reader
from tunesmith.store.record import Record, Session, StoredEvaluation
from tunesmith.store.rescue import read_rescued
from tunesmith.store.rows import to_instant, to_json_text
from tunesmith.store.schema import evaluations as evaluation_rows
from tunesmith.store.schema import sessions
from tunesmith.store.versions import library_versions
from tunesmith.store.writing import (
    SessionNumbers,
    add_records,
    add_session,
    missing_rows,
)

# A session's uid, and the name and version of its sketch.
_SeriesKey = tuple[str, str, int]


class Store(Reader):
    """Records in a database. `open_store` makes it; it closes itself at the end of a ``with``.

    Several processes may use one store at the same time, each with its own `Store`: a forked child
    must not use its parent's. Every method raises `StoreError` with one line if the database fails;
    a method that writes has then written nothing and may be called again.

    ``machine`` is a fingerprint. None means this machine, because times of different machines are
    not comparable; `ANY_MACHINE` means all machines.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._numbers: dict[_SeriesKey, SessionNumbers] = {}

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
        """Store the start of a tuning run. See `Session` for the arguments.

        ``machine`` (see `machine_of`) and ``versions`` default to those of this process. Raises
        `UsageError` for a mapping that is not JSON-ready.
        """
        session = Session(
            uid=uuid.uuid4().hex,
            task_key=task_key,
            description=description or {},
            sketch=sketch,
            sketch_version=sketch_version,
            target=target or {},
            machine=machine_of(task_key) if machine is None else machine,
            versions=library_versions() if versions is None else versions,
            tuner=tuner,
            tuner_settings=tuner_settings or {},
            seed=seed,
            budget=budget or {},
            started=datetime.now(UTC),
        )
        numbers = self._database.write(lambda connection: add_session(connection, session))
        self._numbers[_series_key(session)] = numbers
        return session

    def append(self, session: Session, measurements: Sequence[Measurement]) -> None:
        """Store trials of a session in one transaction."""
        self.add([session.record(measurement) for measurement in measurements])

    def confirm(self, session: Session, measurements: Sequence[Measurement]) -> None:
        """Store the play-off at the end of a session, one measurement per config.

        From then on these times decide which config is best, instead of those of the trials.
        """
        self.add([session.record(it, play_off=True) for it in measurements])

    def add(self, records: Sequence[Record]) -> None:
        """Store new records, possibly of several sketches, in one transaction."""

        def work(connection: Connection) -> dict[_SeriesKey, SessionNumbers]:
            numbers = dict(self._numbers)
            for record in records:
                key = _series_key(record.session)
                if key not in numbers:
                    numbers[key] = add_session(connection, record.session)
            rows = [numbers[_series_key(record.session)].row(record) for record in records]
            add_records(connection, rows)
            return numbers

        self._numbers = self._database.write(work)

    def add_evaluations(self, session: Session, evaluations: Sequence[StoredEvaluation]) -> None:
        """Store evaluations of programs with edits in one transaction."""

        def work(connection: Connection) -> None:
            numbers = add_session(connection, session)
            rows = [evaluation_row(numbers, each) for each in evaluations]
            connection.execute(evaluation_rows.insert(), rows)

        if evaluations:
            self._database.write(work)

    def finish_session(
        self, session: Session, *, stopped: str, time_split: Mapping[str, float] | None = None
    ) -> None:
        """Store why a run ended, and its seconds by phase (see ``PHASES``)."""
        split = to_json_text(time_split or {}, "time split")
        end = {"finished": to_instant(datetime.now(UTC)), "stopped": stopped, "time_split": split}

        def work(connection: Connection) -> None:
            number = add_session(connection, session).session
            connection.execute(sessions.update().where(sessions.c.id == number).values(**end))

        self._database.write(work)

    def merge(self, records: Iterable[Record]) -> int:
        """Add those records that the store lacks, with their sessions, and return their number.

        It is one transaction. Merging the same records again adds nothing.
        """
        by_series: dict[_SeriesKey, list[Record]] = {}
        for record in records:
            by_series.setdefault(_series_key(record.session), []).append(record)

        def work(connection: Connection) -> int:
            added = 0
            for group in by_series.values():
                rows = missing_rows(connection, add_session(connection, group[0].session), group)
                add_records(connection, rows)
                added += len(rows)
            return added

        return self._database.write(work)

    def import_rescued(self, path: str | Path) -> int:
        """Merge the records of a file that `rescue` wrote; returns how many were new."""
        return self.merge(read_rescued(path))

    def close(self) -> None:
        """Close the database. Safe to call twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _series_key(session: Session) -> _SeriesKey:
    return session.uid, session.sketch, session.sketch_version
