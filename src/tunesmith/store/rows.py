"""Converts measurements and sessions to rows of the tables, and back."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Row

from tunesmith.errors import UsageError
from tunesmith.measurement import Candidate, Measurement
from tunesmith.space import Config
from tunesmith.store.record import Record, Session

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# The fields of a session that are columns with JSON, and what messages call them.
_MAPPINGS = {
    "description": "description",
    "target": "target",
    "versions": "library versions",
    "tuner_settings": "tuner's settings",
    "budget": "budget",
    "time_split": "time split",
}


def to_json_text(value: Mapping[str, Any], what: str) -> str:
    """Canonical compact JSON. Raises `UsageError` if a value cannot be written as JSON."""
    try:
        return json.dumps(dict(value), sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the {what} of a session cannot be written as JSON: {error}") from error


def to_instant(moment: datetime) -> int:
    """Microseconds since 1970; exact, unlike `datetime.timestamp`."""
    return (moment - _EPOCH) // _MICROSECOND


def from_instant(instant: int) -> datetime:
    return _EPOCH + instant * _MICROSECOND


def config_hash(key: str) -> int:
    """A hash of a config's key as a signed 64-bit integer."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def measurement_row(measurement: Measurement) -> dict[str, Any]:
    """The columns of a record that come from its measurement."""
    key, measured = measurement.config.key, measurement.to_json()
    state = measured["device_state"]
    return {
        **{name: measured[name] for name in ("outcome", "build_time", "run_time", "cut_off")},
        "config": key,
        "config_hash": config_hash(key),
        "seconds": _comparable_seconds(measurement),
        "run_seconds": json.dumps(measured["run_seconds"]),
        "message": storable(measured["message"]),
        "program_hash": storable(measured["program_hash"]),
        "device_state": None if state is None else json.dumps(state, separators=(",", ":")),
    }


def same_trial(row: Mapping[str, Any] | Row[Any]) -> tuple[Any, ...]:
    """A key of a trial within a session: no two trials take the same time to the last bit."""
    names = ("play_off", "config", "outcome", "run_seconds", "build_time", "run_time")
    fields = row if isinstance(row, Mapping) else row._mapping
    return tuple(fields[name] for name in names)


def _comparable_seconds(measurement: Measurement) -> float | None:
    """The median, or None if it cannot be compared.

    A third-party measurer may return a valid trial without a time, or with NaN. It is stored, but
    must not win.
    """
    if not measurement.valid or not measurement.run_seconds:
        return None
    seconds = float(statistics.median(measurement.run_seconds))
    return seconds if math.isfinite(seconds) else None


def storable(text: str) -> str:
    """``text`` without NUL, which PostgreSQL rejects, and lone surrogates, which UTF-8 rejects."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def measurement_from(row: Row[Any], sketch: str) -> Measurement:
    """The measurement in a row of ``records``, which belongs to a series of ``sketch``."""
    measured = {
        **row._mapping,
        "run_seconds": json.loads(row.run_seconds),
        "device_state": json.loads(row.device_state) if row.device_state else None,
    }
    candidate = Candidate(Config.from_json(json.loads(row.config)), sketch)
    return Measurement.from_json(candidate, measured)


def record_from(row: Row[Any], session: Session) -> Record:
    """The record in a row of ``records``."""
    measurement = measurement_from(row, session.sketch)
    return Record(session, measurement, from_instant(row.created), bool(row.play_off))


def session_row(session: Session) -> dict[str, Any]:
    """The columns of a session that are not foreign keys."""
    return {
        **{name: to_json_text(getattr(session, name), what) for name, what in _MAPPINGS.items()},
        "uid": session.uid,
        "tuner": session.tuner,
        "seed": str(session.seed),
        "started": to_instant(session.started),
        "finished": None if session.finished is None else to_instant(session.finished),
        "stopped": session.stopped,
    }


def session_from(row: Row[Any]) -> Session:
    """The session in a row of ``sessions`` joined with its series, task and machine."""
    mappings = {name: json.loads(row._mapping[name]) for name in ("machine", *_MAPPINGS)}
    return Session(
        **mappings,
        uid=row.uid,
        task_key=row.task_key,
        sketch=row.sketch,
        sketch_version=row.sketch_version,
        tuner=row.tuner,
        seed=int(row.seed),
        started=from_instant(row.started),
        finished=None if row.finished is None else from_instant(row.finished),
        stopped=row.stopped,
    )
