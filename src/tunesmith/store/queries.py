"""The statements that read. They take the ids of the series that the caller selected."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select
from sqlalchemy.sql import ColumnElement

from tunesmith.machine import machine_of
from tunesmith.measurement import Outcome
from tunesmith.space import Config
from tunesmith.store.record import ANY_MACHINE, Record, Run, Session, TaskSummary
from tunesmith.store.rows import config_hash, from_instant, record_from, session_from
from tunesmith.store.schema import machines, records, series, sessions, tasks
from tunesmith.store.winner import winner_of

_ROWS_AT_A_TIME = 1000

# That of the platform at the end of a task's key, where the target names one.
_ARCHITECTURE = re.compile(r"@cpu\([^)]*triple=([^,)-]+)[^)]*\)$")


def series_ids(
    connection: Connection,
    task_key: str,
    machine: str | None,
    sketch: str | None = None,
    sketch_version: int | None = None,
) -> list[int]:
    """The ids of a task's series.

    ``machine`` is a fingerprint, None for the one that is meant (see `Store`), `ANY_MACHINE` for
    all; None for ``sketch`` or ``sketch_version`` selects all of them.
    """
    if machine is None:
        machine = _machine_meant(connection, task_key)
    chosen = (
        select(series.c.id)
        .join(tasks, tasks.c.id == series.c.task_id)
        .where(tasks.c.key == task_key)
        .order_by(series.c.id)
    )
    if machine != ANY_MACHINE:
        chosen = chosen.join(machines, machines.c.id == series.c.machine_id)
        chosen = chosen.where(machines.c.fingerprint == machine)
    if sketch is not None:
        chosen = chosen.where(series.c.sketch == sketch)
    if sketch_version is not None:
        chosen = chosen.where(series.c.sketch_version == sketch_version)
    return list(connection.execute(chosen).scalars())


def _machine_meant(connection: Connection, task_key: str) -> str:
    """The fingerprint of this machine; if it cannot run the target's code, of the machine that
    measured the task last."""
    own = str(machine_of(task_key)["fingerprint"])
    named = _ARCHITECTURE.search(task_key)
    if named is None or named[1] == platform.machine():
        return own
    last = (
        select(machines.c.fingerprint)
        .join(series, series.c.machine_id == machines.c.id)
        .join(tasks, tasks.c.id == series.c.task_id)
        .join(sessions, sessions.c.series_id == series.c.id)
        .where(tasks.c.key == task_key)
        .order_by(sessions.c.id.desc())
        .limit(1)
    )
    return connection.execute(last).scalar() or own


def in_order_of_time(
    ids: Sequence[int],
    *,
    play_off: bool | None,
    session_uid: str | None = None,
    newest_first: bool = False,
    limit: int | None = None,
) -> Select[Any]:
    """The rows of ``records`` in the order in which they were stored; ``session_uid`` selects one
    session. None for ``play_off`` means both trials and play-offs."""
    order = records.c.id.desc() if newest_first else records.c.id
    rows = select(records).where(_one_of(ids))
    if play_off is not None:
        rows = rows.where(records.c.play_off.is_(play_off))
    if session_uid is not None:
        session_id = select(sessions.c.id).where(sessions.c.uid == session_uid).scalar_subquery()
        rows = rows.where(records.c.session_id == session_id)
    return rows.order_by(order).limit(limit)


def _one_of(ids: Sequence[int]) -> ColumnElement[bool]:
    # For a single series, by far the most common case, the index alone gives the order.
    column = records.c.series_id
    return column == ids[0] if len(ids) == 1 else column.in_(ids)


def written(connection: Connection) -> int:
    """The number of the newest record: how many were ever written."""
    return connection.execute(select(func.max(records.c.id))).scalar() or 0


def first_session(connection: Connection) -> str:
    """The identifier of the oldest session; empty where there is none."""
    oldest = select(sessions.c.uid).order_by(sessions.c.id).limit(1)
    return connection.execute(oldest).scalar() or ""


def count(connection: Connection, ids: Sequence[int]) -> int:
    """The number of trials in these series, without play-offs."""
    rows = select(func.count()).select_from(records)
    trials = rows.where(_one_of(ids), records.c.play_off.is_(False))
    return connection.execute(trials).scalar_one()


def outcomes(connection: Connection, ids: Sequence[int]) -> dict[Outcome, int]:
    """The number of trials with each outcome, in the order of the outcomes."""
    counted = (
        select(records.c.outcome, func.count())
        .where(_one_of(ids), records.c.play_off.is_(False))
        .group_by(records.c.outcome)
        .order_by(records.c.outcome)
    )
    return {Outcome(code): number for code, number in connection.execute(counted)}


def latest_of(connection: Connection, ids: Sequence[int], config: Config) -> Row[Any] | None:
    """The newest row of a config; one of a play-off if there is any."""
    rows = (
        select(records)
        .where(
            _one_of(ids),
            records.c.config_hash == config_hash(config.key),
            records.c.config == config.key,
        )
        .order_by(records.c.play_off.desc(), records.c.id.desc())
        .limit(1)
    )
    return connection.execute(rows).first()


def sketches_of(connection: Connection, ids: Sequence[int]) -> list[tuple[str, int]]:
    """Name and version of the sketch of each of these series."""
    rows = select(series.c.sketch, series.c.sketch_version).distinct().where(series.c.id.in_(ids))
    return [(name, version) for name, version in connection.execute(rows)]


def runs_of(connection: Connection, ids: Sequence[int]) -> list[Run]:
    """The runs of these series, oldest first."""
    trial, play_off = records.c.play_off.is_(False), records.c.play_off.is_(True)
    fastest = func.min(records.c.seconds)
    given = (
        select(
            sessions.c.uid,
            series.c.sketch,
            func.count().filter(trial).label("trials"),
            fastest.filter(play_off).label("confirmed"),
            fastest.filter(trial).label("tried"),
        )
        .join(records, records.c.session_id == sessions.c.id)
        .join(series, series.c.id == records.c.series_id)
        .where(_one_of(ids))
        .group_by(sessions.c.uid, series.c.id)
        .order_by(series.c.id)
    )
    found: dict[str, list[Row[Any]]] = {}
    for row in connection.execute(given):
        found.setdefault(row.uid, []).append(row)
    return [_run(session, found.get(session.uid, [])) for session in sessions_of(connection, ids)]


def _run(session: Session, rows: Sequence[Row[Any]]) -> Run:
    """A run, from one row of totals per sketch."""
    times = [(row.confirmed, row.sketch) for row in rows if row.confirmed is not None]
    times = times or [(row.tried, row.sketch) for row in rows if row.tried is not None]
    seconds, sketch = min(times, default=(None, ""))
    by_sketch = {row.sketch: row.trials for row in rows if row.sketch}
    return Run(session, sum(row.trials for row in rows), seconds, by_sketch, sketch)


def _newest_instant(connection: Connection, ids: Sequence[int]) -> int | None:
    """The instant at which the newest record of these series was stored."""
    newest = (
        connection.execute(
            select(records.c.created)
            .where(records.c.series_id == number)
            .order_by(records.c.id.desc())
            .limit(1)
        ).scalar()
        for number in ids
    )
    return max((instant for instant in newest if instant is not None), default=None)


def summaries(connection: Connection, machine: str | None) -> list[TaskSummary]:
    """The summaries of all tasks on a machine, None for this one, oldest first."""
    rows = connection.execute(select(tasks).order_by(tasks.c.id)).all()
    of = {row.key: machine or machine_of(row.key)["fingerprint"] for row in rows}
    return [
        _summary(connection, row.id, row.key, series_ids(connection, row.key, of[row.key]))
        for row in rows
    ]


def _summary(connection: Connection, task_id: int, key: str, ids: Sequence[int]) -> TaskSummary:
    """The summary of a task over these of its series."""
    newest = (
        select(sessions.c.description)
        .join(series, series.c.id == sessions.c.series_id)
        .where(series.c.task_id == task_id)
        .order_by(sessions.c.id.desc())
        .limit(1)
    )
    description = connection.execute(newest).scalar()
    winner = winner_of(connection, ids)
    last = _newest_instant(connection, ids)
    return TaskSummary(
        key=key,
        description={} if description is None else json.loads(description),
        trials=count(connection, ids),
        best_seconds=None if winner is None else float(winner.seconds),
        last=None if last is None else from_instant(last),
    )


def best(connection: Connection, ids: Sequence[int]) -> Record | None:
    """The best record of these series; see ``winner_of``."""
    row = winner_of(connection, ids)
    if row is None:
        return None
    return record_from(row, _session(connection, row.session_id, row.series_id))


# Each session with what ``session_from`` needs.
SESSIONS = (
    select(
        sessions,
        tasks.c.key.label("task_key"),
        series.c.sketch,
        series.c.sketch_version,
        machines.c.description.label("machine"),
    )
    .join(series, series.c.id == sessions.c.series_id)
    .join(tasks, tasks.c.id == series.c.task_id)
    .join(machines, machines.c.id == series.c.machine_id)
)


def sessions_of(connection: Connection, ids: Sequence[int]) -> list[Session]:
    """The sessions of these series, oldest first."""
    rows = SESSIONS.where(sessions.c.series_id.in_(ids)).order_by(sessions.c.id)
    return [session_from(row) for row in connection.execute(rows)]


def read_records(connection: Connection, rows: Select[Any]) -> Iterator[Record]:
    """The records of rows of ``records``, lazily; each session is read only once."""
    known: dict[tuple[int, int], Session] = {}
    for row in connection.execute(rows, execution_options={"yield_per": _ROWS_AT_A_TIME}):
        numbers = row.session_id, row.series_id
        if numbers not in known:
            known[numbers] = _session(connection, *numbers)
        yield record_from(row, known[numbers])


def _session(connection: Connection, number: int, series_number: int) -> Session:
    """A session, with the sketch of a series."""
    row = connection.execute(SESSIONS.where(sessions.c.id == number)).one()
    session = session_from(row)
    if row.series_id == series_number:
        return session
    sketch = select(series.c.sketch, series.c.sketch_version).where(series.c.id == series_number)
    return session.by(*connection.execute(sketch).one())
