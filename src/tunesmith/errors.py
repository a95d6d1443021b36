"""The errors that Tunesmith raises on purpose: one root, a few classes, one-line messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TunesmithError(Exception):
    """Root of all errors that a user can act on.

    The message is one line: what is wrong, what to do. ``exit_code`` is the command line's.
    """

    exit_code = 1


class UsageError(TunesmithError):
    """A request with an unknown or invalid name, shape or option."""

    exit_code = 2


class SpaceError(UsageError):
    """A malformed space, parameter or constraint, or a space that has no valid config."""


class NoConfigFoundError(SpaceError):
    """No valid config was found by drawing: there are none, or hardly any."""


class StoreError(TunesmithError):
    """A store that cannot be opened, read or written."""


class MissingDependencyError(TunesmithError):
    """An optional package or tool that the request needs is not installed."""


class InstantiationError(TunesmithError):
    """A sketch cannot turn this config into a program. Costs a trial, never a run."""


def system_reason(error: OSError) -> str:
    """Why the system refused to write a file, in words that can follow a colon."""
    if isinstance(error, FileExistsError):  # a file is where a folder should be made
        return f"{error.filename} is not a folder"
    return (error.strerror or str(error)).lower()


_LONGEST_LINE = 300

# TVM prints the reason of a schedule error after the whole program.
_TVM_REASON = "Error message: "


def one_line(text: str) -> str:
    """Text as one printable line of at most 300 characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def describe(error: BaseException) -> str:
    """An exception in one line, with its type unless it is one of Tunesmith's own."""
    if isinstance(error, TunesmithError):
        return one_line(str(error))
    name = type(error).__name__
    text = str(error).rpartition(_TVM_REASON)[2].removeprefix(f"{name}: ")
    return one_line(f"{name}: {text}") if text else name


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its class where there is none."""
    return _lines(error)[0].strip()


def last_line(error: BaseException) -> str:
    """The last line of an error's message: compilers put the reason there."""
    return _lines(error)[-1].strip()


def _lines(error: BaseException) -> list[str]:
    return str(error).strip().splitlines() or [type(error).__name__]


# A message lists at most this many names.
_MOST_NAMES = 8


def unknown_name(
    kind: str, name: str, known: Iterable[str], *, listed_by: str | None = None
) -> UsageError:
    """The error for a name that is not registered, with the nearest known names.

    ``listed_by`` is the command that lists all of them, if there is one.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif not names:
        hint = "there is none"
    elif len(names) <= _MOST_NAMES:
        hint = f"known: {', '.join(names)}"
    else:
        hint = f"known: {', '.join(names[:_MOST_NAMES])}, …"
        hint += f" ('{listed_by}' lists them)" if listed_by else ""
    return UsageError(f"unknown {kind} '{name}': {hint}")
