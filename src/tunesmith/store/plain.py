"""Sessions and records as JSON-ready objects, and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tunesmith.measurement import Candidate, Measurement
from tunesmith.store.record import Record, Session

_INSTANTS = ("started", "finished")


def plain_session(session: Session) -> dict[str, Any]:
    """A JSON-ready object, for ``session_of``."""
    return {
        name: value.isoformat()
        if isinstance(value, datetime)
        else dict(value)
        if isinstance(value, Mapping)
        else value
        for name, value in vars(session).items()
    }


def session_of(plain: Mapping[str, Any]) -> Session:
    """The inverse of ``plain_session``. Raises what objects that are none raise."""
    session = dict(plain)
    for name in _INSTANTS:
        session[name] = None if session[name] is None else datetime.fromisoformat(session[name])
    return Session(**session)


def plain_record(record: Record) -> dict[str, Any]:
    """A JSON-ready object without the session, for ``record_of``."""
    return {
        "measurement": {"config": record.config.to_json(), **record.measurement.to_json()},
        "created": record.created.isoformat(),
        "play_off": record.play_off,
    }


def record_of(plain: Mapping[str, Any], session: Session) -> Record:
    """The inverse of ``plain_record``. Raises what objects that are none raise."""
    from tunesmith.space import Config

    measured = {"device_state": None, **plain["measurement"]}  # older versions had no device_state
    candidate = Candidate(Config.from_json(measured["config"]), session.sketch)
    return Record(
        session=session,
        measurement=Measurement.from_json(candidate, measured),
        created=datetime.fromisoformat(plain["created"]),
        play_off=plain["play_off"],
    )
