"""What came of programs with edits, as rows of ``evaluations``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from tunesmith.measurement import Outcome
from tunesmith.store.record import StoredEvaluation
from tunesmith.store.rows import from_instant, storable, to_instant
from tunesmith.store.schema import evaluations
from tunesmith.store.writing import SessionNumbers


def evaluation_row(numbers: SessionNumbers, evaluation: StoredEvaluation) -> dict[str, Any]:
    """The row of an evaluation in a session."""
    figures = {name: getattr(evaluation, name) for name in ("ratio", "seconds", "error")}
    return {
        "session_id": numbers.session,
        "series_id": numbers.series,
        "program": evaluation.program,
        "edits": json.dumps(list(evaluation.edits), separators=(",", ":")),
        "outcome": evaluation.outcome.value,
        **{name: value if math.isfinite(value) else None for name, value in figures.items()},
        "message": storable(evaluation.message),
        "created": to_instant(evaluation.created),
    }


def missing_evaluations(
    connection: Connection, rows: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Those of these rows, which are of one session, that the store lacks."""
    stored = select(evaluations.c.program, evaluations.c.created).where(
        evaluations.c.session_id == rows[0]["session_id"],
        evaluations.c.series_id == rows[0]["series_id"],
        evaluations.c.created.in_({row["created"] for row in rows}),
    )
    known = {(row.program, row.created) for row in connection.execute(stored)}
    return [row for row in rows if (row["program"], row["created"]) not in known]


def evaluation_from(row: Row[Any]) -> StoredEvaluation:
    """The evaluation of a row."""
    ratio, seconds, error = (
        math.inf if value is None else float(value) for value in (row.ratio, row.seconds, row.error)
    )
    return StoredEvaluation(
        program=row.program,
        edits=json.loads(row.edits),
        outcome=Outcome(row.outcome),
        ratio=ratio,
        seconds=seconds,
        error=error,
        message=row.message,
        created=from_instant(row.created),
    )


def read_evaluations(connection: Connection, ids: Sequence[int]) -> Iterator[StoredEvaluation]:
    """Those of some series, in the order in which they were stored."""
    chosen = select(evaluations).where(evaluations.c.series_id.in_(ids)).order_by(evaluations.c.id)
    for row in connection.execute(chosen):
        yield evaluation_from(row)
