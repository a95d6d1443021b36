"""What a parameter can be set to, and how a value is written as JSON."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence

import numpy as np

from tunesmith.errors import SpaceError

Scalar = int | float | str | bool
Value = int | float | str | bool | tuple[int | float | str, ...]

# Values of these types are as they should be.
_PLAIN = frozenset((int, str, bool))

# Bounded in time and depth too: what is quoted may come from any file.
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100
_SHORT.maxtuple = _SHORT.maxlist = 12
_SHORT.maxlevel = 3


def quote(thing: object) -> str:
    """``repr`` on one line, shortened where it would make an error message unreadable."""
    try:
        text = _SHORT.repr(thing)
    except ValueError:  # an integer of more digits than Python is willing to print
        return f"a huge {type(thing).__name__}"
    return text.replace("\n", " ")


def as_value(raw: object, owner: str) -> Value:
    """``raw`` as a plain value: lists become tuples, NumPy scalars become Python's own.

    ``owner`` says in the error whose value it is. Raises SpaceError for anything else, and for
    numbers that JSON cannot hold.
    """
    if type(raw) is tuple and _PLAIN.issuperset(map(type, raw)):
        return raw
    if isinstance(raw, tuple | list):
        return tuple(_as_scalar(part, owner) for part in raw)
    return _as_scalar(raw, owner)


def as_values(raw: object, owner: str, field: str) -> tuple[Value, ...]:
    """Any sequence as a tuple of distinct plain values. Raises SpaceError for anything else."""
    if isinstance(raw, str) or not isinstance(raw, Sequence | np.ndarray):
        raise SpaceError(f"{owner}: {field} are {quote(raw)}: give a list")
    if not len(raw):
        raise SpaceError(f"{owner} has no {field}: give at least one")
    values = tuple(as_value(part, owner) for part in raw)
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise SpaceError(f"{owner}: {quote(twice)} comes twice among the {field}: remove one")
    return values


def _as_scalar(raw: object, owner: str) -> Scalar:
    if type(raw) in _PLAIN:
        return raw  # type: ignore[return-value]
    if isinstance(raw, np.generic):
        return _as_scalar(raw.item(), owner)
    if isinstance(raw, float):
        if not math.isfinite(raw):
            raise SpaceError(f"{owner}: {raw} is not a finite number")
        return float(raw) + 0.0  # one zero: -0.0 would have a key of its own
    if isinstance(raw, int):
        return int(raw)
    if isinstance(raw, str):
        return str(raw)
    raise SpaceError(
        f"{owner}: {quote(raw)} is not a value: use an int, float, str, bool or a tuple of them"
    )


def identity(value: object) -> object:
    """A key that tells 1, 1.0 and True apart, as their JSON does and Python's equality does not."""
    if type(value) is tuple:
        return (value, *map(type, value))
    return (type(value), value)


def value_to_json(value: Value) -> object:
    """Tuples as lists, everything else as it is."""
    return list(value) if isinstance(value, tuple) else value
