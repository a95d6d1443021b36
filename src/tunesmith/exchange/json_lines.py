"""Records as JSON lines: a session has a line of its own, before its first record.

A file that a run has rescued has the session in every line instead, and is read as well. Numbers
that are not finite are written as Python's ``json`` does: ``Infinity`` and ``NaN``.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from tunesmith.errors import StoreError, TunesmithError
from tunesmith.store import Record, Session
from tunesmith.store.plain import plain_record, plain_session, record_of, session_of

_Key = tuple[str, str, int]

# What lines that are none of ours raise, and files that are damaged or cut off.
_FAULTS = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    RecursionError,
    EOFError,
    zlib.error,
    TunesmithError,
)


def write(path: Path, records: Iterable[Record]) -> int:
    """Write records to a file; returns how many. Raises ``OSError``."""
    numbers: dict[_Key, int] = {}
    count = 0
    with _open(path, "wt") as file:
        for record in records:
            key = _key(record.session)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(numbers)
                file.write(json.dumps({"session": plain_session(record.session)}) + "\n")
            file.write(json.dumps({"of": number, **plain_record(record)}) + "\n")
            count += 1
    return count


def read(path: Path) -> Iterator[Record]:
    """The records of a file, or of several that were joined to one. Raises ``OSError``, and
    ``StoreError`` for one that has none."""
    sessions: list[Session] = []
    first = 0  # of the sessions of this one of the joined files
    place, begun = 0, False
    with _open(path, "rt") as file:
        try:
            for line in file:
                place += 1
                plain = json.loads(line)
                if "session" in plain:
                    sessions.append(session_of(plain["session"]))
                if "measurement" in plain:
                    last = len(sessions) - 1
                    # Without a number its session is the one in the line itself.
                    number = plain.get("of", last - first)
                    if begun:  # by the line before, which is of its session
                        first = last - number
                    if first + number < 0:
                        raise IndexError(number)
                    yield record_of(plain, sessions[first + number])
                elif "session" not in plain:
                    raise KeyError("measurement")
                begun = "measurement" not in plain
        except _FAULTS as error:
            raise StoreError(
                f"line {max(1, place)} of {path} is no record: give a file that Tunesmith wrote"
            ) from error


def _key(session: Session) -> _Key:
    return session.uid, session.sketch, session.sketch_version


def _open(path: Path, mode: str) -> IO[str]:
    if not path.name.endswith(".gz"):
        return path.open(mode, encoding="utf-8")
    return cast(IO[str], gzip.open(path, mode, encoding="utf-8"))  # the caller's
