"""Saves records to a file if the store cannot take them (full disk, unreachable server)."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from tunesmith.errors import StoreError, TunesmithError
from tunesmith.store.plain import plain_record, plain_session, record_of, session_of
from tunesmith.store.record import Record
from tunesmith.whole_file import write_whole


def rescue(records: Iterable[Record], folder: Path | None = None) -> Path:
    """Write records to a new file of JSON lines in ``folder``, or else in the temporary folder.

    ``folder`` is usually the store's; if its disk is full, the temporary folder may have space. The
    file is written whole or not at all; `Store.import_rescued` reads it. Raises `StoreError` if it
    cannot be written to either folder.
    """
    text = "".join(_line(record) for record in records)
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
            plain = json.loads(line)
            record = record_of(plain, session_of(plain["session"]))
        except (ValueError, KeyError, TypeError, TunesmithError) as error:
            raise StoreError(
                f"line {number} of {path} is not a rescued record: give a file that Tunesmith wrote"
            ) from error
        yield record


def _line(record: Record) -> str:
    return json.dumps({"session": plain_session(record.session), **plain_record(record)}) + "\n"
