"""What other runs of a task measure from now on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, select

from tunesmith.measurement import Measurement
from tunesmith.store.database import Database
from tunesmith.store.queries import series_ids
from tunesmith.store.rows import measurement_from
from tunesmith.store.schema import records, series, sessions


@dataclass(frozen=True)
class NewTrial:
    """A trial, and the version of the sketch that it is by."""

    measurement: Measurement
    sketch_version: int


class News:
    """The trials of a task on a machine that sessions store from when this was made.

    Numbers of records are in the order of commits within a session only, since a session has one
    writer. So there is a mark for each session: the last of its records that is known.
    """

    def __init__(self, database: Database, task_key: str, machine: str | None) -> None:
        self._database = database
        self._task_key = task_key
        self._machine = machine
        self._newest = 0
        self._marks: dict[int, int] = {}
        database.read(self._begin)

    def read(self, without: str) -> list[NewTrial]:
        """The trials stored since the last call, except those of the session with this uid.

        Raises `StoreError` if the database fails.
        """
        found, marks = self._database.read(lambda connection: self._read(connection, without))
        self._marks.update(marks)
        return found

    def _begin(self, connection: Connection) -> None:
        self._newest = connection.execute(select(func.max(sessions.c.id))).scalar() or 0
        self._marks = {row.id: row.last or 0 for row in self._changing(connection)}

    def _read(self, connection: Connection, without: str) -> tuple[list[NewTrial], dict[int, int]]:
        found: list[NewTrial] = []
        marks = {}
        for session in self._changing(connection):
            mark = self._marks.get(session.id, 0)
            if session.uid != without and (session.last or 0) > mark:
                rows = self._after(connection, session.id, mark)
                found += (_trial(row) for row in rows if not row.play_off)
                marks[session.id] = rows[-1].id
        return found, marks

    def _changing(self, connection: Connection) -> list[Row[Any]]:
        """The sessions that may have new records, with the number of their last one."""
        ids = series_ids(connection, self._task_key, self._machine)
        last = (
            select(func.max(records.c.id))
            .where(records.c.session_id == sessions.c.id)
            .correlate(sessions)
            .scalar_subquery()
        )
        rows = select(sessions.c.id, sessions.c.uid, last.label("last")).where(
            sessions.c.series_id.in_(ids),
            sessions.c.finished.is_(None)
            | (sessions.c.id > self._newest)
            | sessions.c.id.in_(self._marks),
        )
        return list(connection.execute(rows))

    def _after(self, connection: Connection, session: int, mark: int) -> list[Row[Any]]:
        rows = (
            select(records, series.c.sketch, series.c.sketch_version)
            .join(series, series.c.id == records.c.series_id)
            .where(records.c.session_id == session, records.c.id > mark)
            .order_by(records.c.id)
        )
        return list(connection.execute(rows))


def _trial(row: Row[Any]) -> NewTrial:
    return NewTrial(measurement_from(row, row.sketch), row.sketch_version)
