"""The statements that summarise many records in the database, so that few rows leave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select

from tunesmith.measurement import Outcome
from tunesmith.store.queries import SESSIONS
from tunesmith.store.record import Session
from tunesmith.store.rows import session_from
from tunesmith.store.schema import evaluations, machines, records, series, sessions, tasks

_TRIAL = records.c.play_off.is_(False)


@dataclass(frozen=True, slots=True)
class Tally:
    """Records of one run, sketch and outcome: how many, the least seconds of a call, and what came
    first and last (ids, and microseconds since 1970)."""

    session: int
    series: int
    play_off: bool
    outcome: Outcome
    count: int
    seconds: float | None
    first: int
    last: int
    created: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Trials of a run that follow one another: from which id on, how many, of which so many valid,
    the least seconds of a call, and when the last one was stored (microseconds since 1970)."""

    first: int
    trials: int
    valid: int
    seconds: float | None
    created: int


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Evaluations of programs with edits of one run: how many, the id of the last one, and when it
    was stored (microseconds since 1970)."""

    session: int
    count: int
    last: int
    created: int


@dataclass(frozen=True, slots=True)
class Series:
    """What the trials of a series have in common; ``machine`` is a fingerprint."""

    id: int
    task_key: str
    machine: str
    sketch: str
    version: int


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial as it was stored: its config is JSON, ``seconds`` None if it failed."""

    config: str
    seconds: float | None
    outcome: Outcome
    message: str


def state(connection: Connection) -> tuple[int, ...]:
    """Numbers of which one changes with whatever is written: quick."""
    ends = select(func.count(), func.count(sessions.c.finished)).select_from(sessions)
    newest = (select(func.max(table.c.id)) for table in (records, evaluations))
    numbers = [connection.execute(it).scalar() or 0 for it in newest]
    return (*numbers, *connection.execute(ends).one())


def tallies(connection: Connection, after: int, until: int) -> list[Tally]:
    """Those of the records with ids above ``after``, up to ``until``."""
    keys = (records.c.session_id, records.c.series_id, records.c.play_off, records.c.outcome)
    rows = (
        select(
            *keys,
            func.count(),
            func.min(records.c.seconds),
            func.min(records.c.id),
            func.max(records.c.id),
            func.max(records.c.created),
        )
        .where(records.c.id > after, records.c.id <= until)
        .group_by(*keys)
    )
    return [
        Tally(session, number, bool(play_off), Outcome(outcome), *others)
        for session, number, play_off, outcome, *others in connection.execute(rows)
    ]


def stretches(connection: Connection, session: int, first: int, ids: int) -> list[Stretch]:
    """A run's trials from the id ``first`` on, those of so many ``ids`` together."""
    since = records.c.id - first
    place = (since - since % ids).label("place")
    rows = (
        select(
            place,
            func.count(),
            func.count(records.c.seconds),
            func.min(records.c.seconds),
            func.max(records.c.created),
        )
        .where(records.c.session_id == session, records.c.id >= first, _TRIAL)
        .group_by(place)
        .order_by(place)
    )
    return [Stretch(first + int(at), *others) for at, *others in connection.execute(rows)]


def evaluated(connection: Connection, after: int) -> list[Evaluated]:
    """Those of the evaluations with ids above ``after``."""
    made = evaluations.c
    rows = (
        select(made.session_id, func.count(), func.max(made.id), func.max(made.created))
        .where(made.id > after)
        .group_by(made.session_id)
    )
    return [Evaluated(*row) for row in connection.execute(rows)]


def spread(connection: Connection, number: int, step: int) -> list[Trial]:
    """The trials of a series whose id divides by ``step``: evenly spread over its time."""
    chosen = _TRIALS.where(records.c.series_id == number, records.c.id % step == 0)
    return _trials(connection, chosen.order_by(records.c.id))


def fastest(connection: Connection, number: int, most: int) -> list[Trial]:
    """The fastest trials of a series, at most so many."""
    chosen = _TRIALS.where(records.c.series_id == number, records.c.seconds.is_not(None))
    return _trials(connection, chosen.order_by(records.c.seconds, records.c.id).limit(most))


def last_failures(connection: Connection, ids: Sequence[int], most: int) -> list[Trial]:
    """Those trials among the last ``most`` of these series that failed, newest first."""
    last = _TRIALS.where(records.c.series_id.in_(ids)).order_by(records.c.id.desc()).limit(most)
    return [trial for trial in _trials(connection, last) if trial.outcome is not Outcome.NO_ERROR]


_TRIALS = select(records.c.config, records.c.seconds, records.c.outcome, records.c.message).where(
    _TRIAL
)


def _trials(connection: Connection, chosen: Select[Any]) -> list[Trial]:
    return [
        Trial(row.config, row.seconds, Outcome(row.outcome), row.message)
        for row in connection.execute(chosen)
    ]


def all_series(connection: Connection, after: int) -> list[Series]:
    """Those with ids above ``after``."""
    rows = (
        select(
            series.c.id,
            tasks.c.key,
            machines.c.fingerprint,
            series.c.sketch,
            series.c.sketch_version,
        )
        .join(tasks, tasks.c.id == series.c.task_id)
        .join(machines, machines.c.id == series.c.machine_id)
        .where(series.c.id > after)
        .order_by(series.c.id)
    )
    return [Series(*row) for row in connection.execute(rows)]


def sessions_by_id(connection: Connection, after: int, known: set[int]) -> dict[int, Session]:
    """The sessions with ids above ``after``, and those that have ended of the ``known`` ones."""
    unfinished = connection.execute(select(sessions.c.id).where(sessions.c.finished.is_(None)))
    ended = known.difference(unfinished.scalars())
    found: dict[int, Session] = {}
    for condition in (sessions.c.id > after, *(sessions.c.id == number for number in ended)):
        for row in connection.execute(SESSIONS.where(condition).order_by(sessions.c.id)):
            found[row.id] = session_from(row)
    return found
