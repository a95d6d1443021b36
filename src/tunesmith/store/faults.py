"""Turns the errors of database engines into one-line messages that a user can act on."""

from __future__ import annotations

import os
import shutil
import sqlite3
from enum import Enum
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from tunesmith.errors import StoreError, first_line
from tunesmith.store.place import Place


class Fault(Enum):
    """The faults of a store. The value is the message, with ``{name}`` and ``{detail}``.

    Every write is a transaction, so no fault loses what was stored before.
    """

    CORRUPT = (
        "store {name} is damaged ({detail}): move it away, and save what is readable with "
        "`sqlite3 OLD .recover | sqlite3 NEW`"
    )
    NOT_A_STORE = (
        "{name} is not a Tunesmith store, or is damaged ({detail}): choose another file, or put "
        "back a copy of it"
    )
    LOCKED = "store {name} is locked by another process: let that one end, or stop it, then retry"
    READ_ONLY = (
        "store {name} is read-only ({detail}): make the file and its folder writable, or choose "
        "another store"
    )
    FULL = "store {name} cannot grow, its disk is full ({detail}): free some space, then retry"
    FOLDER = "store {name} is a folder: name a file in it"
    MISSING = "store {name} cannot be opened ({detail}): check that it exists and may be read"
    MOVED = "store {name} was {detail} while in use: put it back, or go on with another store"
    FORBIDDEN = "store {name} refuses access ({detail}): check the user, password and permissions"
    UNREACHABLE = "store {name} does not answer ({detail}): check that its server runs"
    OTHER = "store {name} failed: {detail}"


def store_error(place: Place, error: Exception) -> StoreError:
    """The `StoreError` for an error of SQLAlchemy or a database driver."""
    cause = _cause(error)
    detail = first_line(cause).rstrip(":. ")
    return StoreError(_fault(place, cause).value.format(name=place.name, detail=detail))


def moved_error(place: Place, how: str) -> StoreError:
    """The `StoreError` for a file that was moved away or replaced; ``how`` says which."""
    return StoreError(Fault.MOVED.value.format(name=place.name, detail=how))


def is_transient(error: Exception) -> bool:
    """Whether a retry may succeed: a lock or a deadlock."""
    cause = _cause(error)
    if isinstance(cause, sqlite3.Error):
        return _sqlite_code(cause) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return _sql_state(cause) in ("40001", "40P01", "55P03")


def is_lost(place: Place, error: Exception) -> bool:
    """Whether the connection to a server was lost, or there is none: it may be restarting."""
    return _fault(place, _cause(error)) is Fault.UNREACHABLE


def _cause(error: Exception) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def _fault(place: Place, cause: BaseException) -> Fault:
    if isinstance(cause, sqlite3.Error):
        return _sqlite_fault(place, _sqlite_code(cause))
    state = _sql_state(cause)
    for prefix, fault in _SQL_STATES.items():
        if state.startswith(prefix):
            return fault
    return _no_connection(str(cause)) if type(cause).__name__ == "OperationalError" else Fault.OTHER


def _no_connection(text: str) -> Fault:
    """The fault of a failed connection, which has no SQLSTATE, from the server's message."""
    if "no password supplied" in text:
        return Fault.FORBIDDEN
    if "FATAL" not in text:
        return Fault.UNREACHABLE
    if any(word in text for word in ("authentication", "role", "pg_hba.conf", "permission")):
        return Fault.FORBIDDEN
    return Fault.MISSING if "does not exist" in text else Fault.UNREACHABLE


def _sqlite_fault(place: Place, code: int) -> Fault:
    if code == sqlite3.SQLITE_CANTOPEN:
        return _cannot_open(place)
    if code == sqlite3.SQLITE_IOERR:
        return _input_output(place)
    return _SQLITE.get(code, Fault.OTHER)


def _sqlite_code(cause: sqlite3.Error) -> int:
    # The low byte is the primary result code; the rest is the extended code.
    return int(getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def _sql_state(cause: BaseException) -> str:
    return getattr(cause, "sqlstate", None) or ""


def _cannot_open(place: Place) -> Fault:
    path = place.path
    if path is None:
        return Fault.MISSING
    if _allowed(path, os.F_OK):
        if path.is_dir():
            return Fault.FOLDER
        if not _allowed(path, os.R_OK):
            return Fault.MISSING
    # SQLite writes beside the file, so it cannot open one in a read-only folder.
    return Fault.MISSING if _allowed(path.parent, os.W_OK) else Fault.READ_ONLY


def _allowed(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _input_output(place: Place) -> Fault:
    """On a full disk SQLite reports a plain I/O error if its log's index cannot grow."""
    if place.path is None or not place.path.parent.exists():
        return Fault.OTHER
    return Fault.FULL if shutil.disk_usage(place.path.parent).free < 1 << 16 else Fault.OTHER


_SQLITE = {
    sqlite3.SQLITE_BUSY: Fault.LOCKED,
    sqlite3.SQLITE_LOCKED: Fault.LOCKED,
    sqlite3.SQLITE_READONLY: Fault.READ_ONLY,
    sqlite3.SQLITE_PERM: Fault.FORBIDDEN,
    sqlite3.SQLITE_CORRUPT: Fault.CORRUPT,
    sqlite3.SQLITE_NOTADB: Fault.NOT_A_STORE,
    sqlite3.SQLITE_FULL: Fault.FULL,
}

# Prefixes of SQLSTATE (PostgreSQL, appendix A, "Error Codes"); the first match decides.
_SQL_STATES = {
    "53100": Fault.FULL,
    "25006": Fault.READ_ONLY,
    "40001": Fault.LOCKED,
    "40P01": Fault.LOCKED,
    "55P03": Fault.LOCKED,
    "28": Fault.FORBIDDEN,
    "42501": Fault.FORBIDDEN,
    "3D000": Fault.MISSING,
    "57P": Fault.UNREACHABLE,
    "08": Fault.UNREACHABLE,
    "XX001": Fault.CORRUPT,
    "XX002": Fault.CORRUPT,
}
