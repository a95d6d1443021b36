"""Saves records to a file if the store cannot take them (full disk, unreachable server)."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tunesmith.errors import StoreError, TunesmithError
from tunesmith.measurement import Candidate, Measurement
from tunesmith.store.record import Record, Session
from tunesmith.whole_file import write_whole

_INSTANTS = ("started", "finished")


def rescue(records: Iterable[Record], folder: Path | None = None) -> Path:
    """Write records to a new file of JSON lines in ``folder``, or else in the temporary folder.

    ``folder`` is usually the store's; if its disk is full, the temporary folder may have space. The
    file is written whole or not at all; `Store.import_rescued` reads it. Raises `StoreError` if it
    cannot be written to either folder.
    """
    text = "".join(json.dumps(_to_json(record), default=_plain) + "\n" for record in records)
    now = datetime.now(UTC)
    name = f"tunesmith-rescue-{now:%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:8]}.jsonl"
    failures = []
    for place in (*([folder] if folder is not None else []), Path(tempfile.gettempdir())):
        try:
            return write_whole(place / name, text, lasting=True)  # it may be the only copy
        except OSError as error:
            failures.append(f"{place}: {error.strerror}")
    raise StoreError(
        f"unsaved records cannot be written to any folder ({'; '.join(failures)}): free some space"
    )


def read_rescued(path: str | Path) -> Iterator[Record]:
    """The records in a file that `rescue` wrote. Raises `StoreError` for an invalid file."""
    try:
        lines = Path(path).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read as rescued records: {error}") from error
    for number, line in enumerate(lines, start=1):
        try:
            record = _from_json(json.loads(line))
        except (ValueError, KeyError, TypeError, TunesmithError) as error:
            raise StoreError(
                f"line {number} of {path} is not a rescued record: give a file that Tunesmith wrote"
            ) from error
        yield record


def _to_json(record: Record) -> dict[str, Any]:
    return {
        "session": vars(record.session),
        "measurement": {"config": record.config.to_json(), **record.measurement.to_json()},
        "created": record.created,
        "play_off": record.play_off,
    }


def _plain(value: Any) -> Any:
    """What JSON has for an instant, or for a mapping that is not a dictionary."""
    return value.isoformat() if isinstance(value, datetime) else dict(value)


def _from_json(line: Mapping[str, Any]) -> Record:
    from tunesmith.space import Config

    session = dict(line["session"])
    for name in _INSTANTS:
        session[name] = None if session[name] is None else datetime.fromisoformat(session[name])
    measured = {"device_state": None, **line["measurement"]}  # older versions had no device_state
    return Record(
        session=Session(**session),
        measurement=Measurement.from_json(
            Candidate(Config.from_json(measured["config"]), session["sketch"]), measured
        ),
        created=datetime.fromisoformat(line["created"]),
        play_off=line["play_off"],
    )
