"""Which record of some series is the best, though measurements are noisy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, select
from sqlalchemy.sql import ColumnElement, FromClause

from tunesmith.store.schema import records


def winner_of(connection: Connection, ids: Sequence[int]) -> Row[Any] | None:
    """The best record of these series, robust against noise in single measurements.

    The fastest of many noisy trials is partly lucky, so a run ends with a play-off of its fastest
    few. Configs that failed in a play-off are excluded. If the config of the fastest trial has been
    in a play-off, the winner has the fastest play-off time, where the newest play-off of each
    config counts. If not, it was found after the last play-off, and wins for now.

    All series are compared together, because the sketches of a run share a play-off. Each needs at
    most two index look-ups.
    """
    fastest = _fastest(connection, ids, play_offs=False)
    if fastest is None or not fastest.tested:
        return fastest
    return _fastest(connection, ids, play_offs=True)


def _fastest(connection: Connection, ids: Sequence[int], *, play_offs: bool) -> Row[Any] | None:
    """The fastest trial or play-off whose config has not failed in a play-off.

    ``tested`` says whether the config has been in one.
    """
    asked = _fastest_of_a_series(play_offs)
    rows = [row for number in ids for row in connection.execute(asked, {"number": number})]
    return min(rows, key=lambda row: (row.seconds, row.id), default=None)


@cache  # making it takes longer than asking it
def _fastest_of_a_series(play_offs: bool) -> Select[Any]:
    """``_fastest`` of the series ``number``."""
    allowed = [~_in_play_off(records, failed=True)]
    if play_offs:
        allowed.append(~_in_play_off(records, later=True))
    first = (
        select(records)
        .where(records.c.series_id == bindparam("number"), records.c.play_off.is_(play_offs))
        .where(records.c.seconds.is_not(None), *allowed)
        .order_by(records.c.seconds, records.c.id)
        .limit(1)
        .subquery("first")
    )
    # Asked of one row: of all rows, PostgreSQL would read the whole table first.
    return select(first, _in_play_off(first).label("tested"))


def _in_play_off(
    of: FromClause, *, failed: bool = False, later: bool = False
) -> ColumnElement[bool]:
    """Whether the config of a row of records was in a play-off of its series.

    ``failed``: whether it failed in one; ``later``: whether it was in one after that row.
    """
    other = records.alias("other")
    rows = select(1).where(
        other.c.series_id == of.c.series_id,
        other.c.config_hash == of.c.config_hash,
        other.c.config == of.c.config,
        other.c.play_off.is_(True),
    )
    if failed:
        rows = rows.where(other.c.seconds.is_(None))
    if later:
        rows = rows.where(other.c.id > of.c.id)
    return rows.correlate(of).exists()
