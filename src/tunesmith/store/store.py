"""The store, with the methods that write."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from tunesmith.machine import machine_of
from tunesmith.measurement import Measurement
from tunesmith.space import Config
from tunesmith.store import claims
from tunesmith.store.database import Database
from tunesmith.store.evaluations import evaluation_row, missing_evaluations
from tunesmith.store.news import News
from tunesmith.store.reading import Reader
from tunesmith.store.record import Record, Session, StoredEvaluation
from tunesmith.store.rescue import read_rescued
from tunesmith.store.rows import config_hash, to_instant, to_json_text
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
    not comparable; of a task for another platform, which this machine cannot have measured, the one
    that did so last. `ANY_MACHINE` means all machines.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._numbers: dict[_SeriesKey, SessionNumbers] = {}
        self._server_is_ahead: int | None = None
        self._claimed: dict[int, set[claims.Key]] = {}  # by the number of the session

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
        `UsageError` for a mapping that is not JSON-ready, and a machine without a fingerprint.
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

        def work(connection: Connection) -> SessionNumbers:
            claims.sweep(connection, self._instant(connection, None))
            return add_session(connection, session)

        numbers = self._database.write(work)
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
        """Store new records, possibly of several sketches, in one transaction.

        They end the claims of their sessions to their configs.
        """

        def work(
            connection: Connection, *, again: bool = False
        ) -> dict[_SeriesKey, SessionNumbers]:
            numbers = self._known(connection, [record.session for record in records])
            rows = [numbers[_series_key(record.session)].row(record) for record in records]
            add_records(connection, missing_rows(connection, rows) if again else rows)
            for session, keys in self._claims_to(rows).items():
                claims.release(connection, session, keys)
            return numbers

        self._numbers = self._database.write(work, again=partial(work, again=True))

    def _claims_to(self, rows: Sequence[Mapping[str, Any]]) -> dict[int, set[claims.Key]]:
        """The claims, by session, that rows of ``records`` end."""
        ended: dict[int, set[claims.Key]] = {}
        for row in rows:
            key = (row["series_id"], row["config_hash"])
            if key in self._claimed.get(row["session_id"], ()):
                ended.setdefault(row["session_id"], set()).add(key)
        return ended

    def _known(
        self, connection: Connection, chosen: Iterable[Session]
    ) -> dict[_SeriesKey, SessionNumbers]:
        """The numbers of sessions, with those that are not known yet."""
        numbers = dict(self._numbers)
        for session in chosen:
            if _series_key(session) not in numbers:
                numbers[_series_key(session)] = add_session(connection, session)
        return numbers

    def claim(
        self,
        candidates: Sequence[tuple[Session, Config]],
        seconds: float,
        *,
        now: datetime | None = None,
    ) -> list[float]:
        """Claim configs for one session, which is about to measure them, for so many seconds.

        Returns for each how many seconds it is not free: 0 if it is claimed now, infinity if it has
        been measured, else as long as the claim of another session lasts. A claim ends with the
        record of its config, with its session, or after these seconds, unless it is renewed. Time
        is that of the database's server, of this machine if there is none, or ``now``.
        """

        if not candidates:
            return []

        def work(connection: Connection) -> tuple[dict[_SeriesKey, SessionNumbers], list[float]]:
            numbers = self._known(connection, [session for session, _ in candidates])
            instant = self._instant(connection, now)
            session, keys = _keys(candidates, numbers)
            return numbers, claims.claim(connection, session, keys, instant, seconds)

        self._numbers, waits = self._database.write(work)
        session, keys = _keys(candidates, self._numbers)
        free = (key for key, wait in zip(keys, waits, strict=True) if wait == 0)
        self._claimed.setdefault(session, set()).update(free)
        return waits

    def renew_claims(
        self, session: Session, seconds: float, *, now: datetime | None = None
    ) -> None:
        """Let a session's claims last for so many seconds from now."""

        def work(connection: Connection) -> None:
            instant = self._instant(connection, now)
            claims.renew(connection, add_session(connection, session).session, instant, seconds)

        self._database.write(work)

    def _instant(self, connection: Connection, now: datetime | None) -> int:
        """``now`` as an instant; None is the time of the database's server."""
        if now is not None:
            return to_instant(now)
        if self._server_is_ahead is None:
            self._server_is_ahead = claims.server_is_ahead(connection)
        return to_instant(datetime.now(UTC)) + self._server_is_ahead

    def news(self, task_key: str, *, machine: str | None = None) -> News:
        """What sessions of a task store from now on."""
        return News(self._database, task_key, machine)

    def add_evaluations(self, session: Session, evaluations: Sequence[StoredEvaluation]) -> None:
        """Store evaluations of programs with edits in one transaction."""

        def work(connection: Connection, *, again: bool = False) -> None:
            numbers = add_session(connection, session)
            rows = [evaluation_row(numbers, each) for each in evaluations]
            rows = missing_evaluations(connection, rows) if again else rows
            if rows:
                connection.execute(evaluation_rows.insert(), rows)

        if evaluations:
            self._database.write(work, again=partial(work, again=True))

    def finish_session(
        self, session: Session, *, stopped: str, time_split: Mapping[str, float] | None = None
    ) -> None:
        """Store why a run ended, and its seconds by phase (see ``PHASES``)."""
        split = to_json_text(time_split or {}, "time split")
        end = {"finished": to_instant(datetime.now(UTC)), "stopped": stopped, "time_split": split}

        def work(connection: Connection) -> None:
            number = add_session(connection, session).session
            connection.execute(sessions.update().where(sessions.c.id == number).values(**end))
            claims.release_all(connection, number)
            self._claimed.pop(number, None)

        self._database.write(work)

    def merge(self, records: Iterable[Record]) -> int:
        """Add those records that the store lacks, with their sessions, and return their number.

        It is one transaction. Merging the same records again adds nothing.
        """
        given = list(records)

        def work(connection: Connection) -> int:
            numbers: dict[_SeriesKey, SessionNumbers] = {}
            for record in given:
                key = _series_key(record.session)
                if key not in numbers:
                    numbers[key] = add_session(connection, record.session)
            rows = [numbers[_series_key(record.session)].row(record) for record in given]
            # Those of a run's sketches stay in the order in which they were measured.
            missing = sorted(missing_rows(connection, rows), key=lambda row: row["created"])
            add_records(connection, missing)
            return len(missing)

        return self._database.write(work)

    def import_rescued(self, path: str | Path) -> int:
        """Merge the records of a file that `rescue` wrote; returns how many were new.

        Raises `StoreError` for a file that is none.
        """
        return self.merge(read_rescued(path))


def _series_key(session: Session) -> _SeriesKey:
    return session.uid, session.sketch, session.sketch_version


def _keys(
    candidates: Sequence[tuple[Session, Config]], numbers: Mapping[_SeriesKey, SessionNumbers]
) -> tuple[int, list[claims.Key]]:
    """The number of the one session of these candidates, and their keys."""
    known = [numbers[_series_key(session)] for session, _ in candidates]
    digests = [config_hash(config.key) for _, config in candidates]
    keys = [(each.series, digest) for each, digest in zip(known, digests, strict=True)]
    return known[0].session, keys
