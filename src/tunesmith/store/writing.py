"""The statements that write, each within the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, select
from sqlalchemy.exc import IntegrityError

from tunesmith.errors import UsageError
from tunesmith.store.record import Record, Session
from tunesmith.store.rows import measurement_row, same_trial, session_row, to_instant, to_json_text
from tunesmith.store.schema import machines, records, series, sessions, tasks

# Databases limit the number of parameters of a statement.
_CHUNK = 500


@dataclass(frozen=True)
class SessionNumbers:
    """The ids of a session and of its series."""

    session: int
    series: int

    def row(self, record: Record) -> dict[str, Any]:
        """The row of ``records`` for a record of this session."""
        return {
            "session_id": self.session,
            "series_id": self.series,
            "play_off": record.play_off,
            "created": to_instant(record.created),
            **measurement_row(record.measurement),
        }


def add_session(connection: Connection, session: Session) -> SessionNumbers:
    """Find or add a session, its task, machine and series; returns their ids.

    A run has a series for each of its sketches.
    """
    machine = to_json_text(session.machine, "machine")
    fingerprint = session.machine.get("fingerprint")
    if not isinstance(fingerprint, str):
        raise UsageError("the machine of a session has no fingerprint: take it from this_machine()")
    chosen = {
        "task_id": _find_or_add(connection, tasks, {"key": session.task_key}),
        "machine_id": _find_or_add(
            connection, machines, {"fingerprint": fingerprint}, description=machine
        ),
        "sketch": session.sketch,
        "sketch_version": session.sketch_version,
    }
    number = _find_or_add(connection, series, chosen)
    row = session_row(session)
    uid = {"uid": row.pop("uid")}
    return SessionNumbers(_find_or_add(connection, sessions, uid, series_id=number, **row), number)


def _find_or_add(
    connection: Connection, table: Table, unique: dict[str, Any], **others: Any
) -> int:
    """The id of the row with these unique values, which is added if there is none."""
    look_up = select(table.c.id).where(*(table.c[name] == value for name, value in unique.items()))
    found = connection.execute(look_up).scalar()
    if found is not None:
        return int(found)
    try:
        with connection.begin_nested():
            added = connection.execute(table.insert().values(**unique, **others))
    except IntegrityError:  # another process added it first (not in SQLite)
        return int(connection.execute(look_up).scalar_one())
    assert added.inserted_primary_key is not None
    return int(added.inserted_primary_key[0])


def add_records(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Add rows of ``records``."""
    if rows:
        connection.execute(records.insert(), rows)


def missing_rows(connection: Connection, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of these rows of ``records`` that the store lacks, each once, in their order by
    series."""
    by_series: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows:
        by_series.setdefault((row["session_id"], row["series_id"]), []).append(row)
    missing = []
    for (session, number), group in by_series.items():
        added: set[tuple[Any, ...]] = set()
        for start in range(0, len(group), _CHUNK):
            chunk = group[start : start + _CHUNK]
            look_up = select(records).where(
                records.c.session_id == session,
                records.c.series_id == number,
                records.c.config_hash.in_({row["config_hash"] for row in chunk}),
            )
            stored = {same_trial(row) for row in connection.execute(look_up)}
            for row in chunk:
                # Of the given ones several may be alike that failed at once, at different moments.
                trial = same_trial(row)
                once = (*trial, row["created"])
                if trial not in stored and once not in added:
                    added.add(once)
                    missing.append(row)
    return missing
