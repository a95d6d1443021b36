"""The statements on claims: which run is about to measure which config, and until when."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Connection, bindparam, cast, delete, func, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from tunesmith.store.rows import to_instant
from tunesmith.store.schema import claims, records

Key = tuple[int, int]
"""A config: the number of its series, and its hash."""

# Statements that each batch of trials takes are made once.
_AMONG_KEYS = tuple_(claims.c.series_id, claims.c.config_hash).in_(
    bindparam("keys", expanding=True)
)
_RELEASE = delete(claims).where(claims.c.session_id == bindparam("session"), _AMONG_KEYS)
# Play-offs are left out afterwards: asked for trials alone, SQLite would read a whole series by the
# index of the best.
_RECORDS = select(records.c.series_id, records.c.config_hash, records.c.play_off).where(
    records.c.series_id.in_(bindparam("numbers", expanding=True)),
    records.c.config_hash.in_(bindparam("digests", expanding=True)),
)

_SECOND = 1_000_000  # in instants
_SOON = 1 / _SECOND  # in seconds: what was another's a moment ago


def server_is_ahead(connection: Connection) -> int:
    """By how much a server's clock, which all its clients share, is ahead of this machine's.

    0 for a database without a server.
    """
    if connection.dialect.name != "postgresql":
        return 0
    seconds = func.extract("epoch", func.clock_timestamp())
    instant = connection.execute(select(cast(seconds * _SECOND, BigInteger))).scalar_one()
    return int(instant) - to_instant(datetime.now(UTC))


def claim(
    connection: Connection, session: int, keys: Sequence[Key], now: int, seconds: float
) -> list[float]:
    """Claim configs for a session. For each, in how many seconds it is free: see `Store.claim`."""
    expires = now + int(seconds * _SECOND)
    # In one order, so that two runs which claim the same configs do not wait for each other.
    rows = [
        {"series_id": number, "config_hash": digest, "session_id": session, "expires": expires}
        for number, digest in sorted(set(keys))
    ]
    taken = connection.execute(
        _upsert(connection.dialect.name), [{**it, "now": now} for it in rows]
    )
    mine = {(row.series_id, row.config_hash) for row in taken}
    # Only now: a run saves a record and ends its claim in one transaction, so a config is claimed,
    # or its record can be read.
    measured = _recorded(connection, mine)
    release(connection, session, measured)
    left = _left(connection, set(keys) - mine, now)
    return [
        math.inf if key in measured else 0.0 if key in mine else left.get(key, _SOON)
        for key in keys
    ]


@cache
def _upsert(dialect: str) -> Any:
    """Inserts claims, or takes them over that have expired ``now``; returns those it could."""
    insert: Any = (postgresql if dialect == "postgresql" else sqlite).insert(claims)
    replaced = {name: insert.excluded[name] for name in ("session_id", "expires")}
    free = (claims.c.expires <= bindparam("now")) | (
        claims.c.session_id == insert.excluded.session_id
    )
    return insert.on_conflict_do_update(
        index_elements=["series_id", "config_hash"], set_=replaced, where=free
    ).returning(claims.c.series_id, claims.c.config_hash)


def _recorded(connection: Connection, keys: Collection[Key]) -> set[Key]:
    """Those of these configs that have a trial."""
    if not keys:
        return set()
    chosen = {"numbers": {number for number, _ in keys}, "digests": {digest for _, digest in keys}}
    found = connection.execute(_RECORDS, {name: list(these) for name, these in chosen.items()})
    return {(row.series_id, row.config_hash) for row in found if not row.play_off} & set(keys)


def _left(connection: Connection, keys: Collection[Key], now: int) -> dict[Key, float]:
    """For how many seconds these configs are claimed, by whomever."""
    if not keys:
        return {}
    return {
        (row.series_id, row.config_hash): max(_SOON, (row.expires - now) / _SECOND)
        for row in connection.execute(select(claims).where(_AMONG_KEYS), {"keys": list(keys)})
    }


def renew(connection: Connection, session: int, now: int, seconds: float) -> None:
    """Let all claims of a session last for so long from now."""
    expires = now + int(seconds * _SECOND)
    connection.execute(update(claims).where(claims.c.session_id == session).values(expires=expires))


def release(connection: Connection, session: int, keys: Collection[Key]) -> None:
    """End a session's claims to these configs."""
    if keys:
        connection.execute(_RELEASE, {"session": session, "keys": list(keys)})


def release_all(connection: Connection, session: int) -> None:
    """End all claims of a session."""
    connection.execute(delete(claims).where(claims.c.session_id == session))


def sweep(connection: Connection, now: int) -> None:
    """Remove what runs have left behind that did not come to their end."""
    connection.execute(delete(claims).where(claims.c.expires <= now))
