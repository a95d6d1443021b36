"""The values of parameters, and their JSON."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.errors import SpaceError

Scalar = int | float | str | bool
Value = int | float | str | bool | tuple[int | float | str, ...]

# Types that need no conversion.
_PLAIN = frozenset((int, str, bool))

# Limits time and depth, too: quoted objects may come from any file.
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100
_SHORT.maxtuple = _SHORT.maxlist = 12
_SHORT.maxlevel = 3


def quote(thing: object) -> str:
    """``repr`` on one line, shortened for error messages."""
    try:
        text = _SHORT.repr(thing)
    except ValueError:  # an integer with more digits than Python prints
        return f"a huge {type(thing).__name__}"
    return text.replace("\n", " ")


def as_value(raw: object, owner: str) -> Value:
    """``raw`` as a plain value: lists become tuples, NumPy scalars become Python's.

    Raises SpaceError, which names ``owner``, for anything else, and for numbers that JSON cannot
    hold.
    """
    if type(raw) is tuple and _PLAIN.issuperset(map(type, raw)):
        return raw
    if isinstance(raw, tuple | list):
        return tuple(_as_scalar(part, owner) for part in raw)
    return _as_scalar(raw, owner)


def as_values(raw: object, owner: str, field: str) -> tuple[Value, ...]:
    """A sequence as a tuple of distinct plain values. Raises SpaceError for anything else."""
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
        return float(raw) + 0.0  # turns -0.0 into 0.0, so that both have the same key
    if isinstance(raw, int):
        return int(raw)
    if isinstance(raw, str):
        return str(raw)
    raise SpaceError(
        f"{owner}: {quote(raw)} is not a value: use an int, float, str, bool or a tuple of them"
    )


def identity(value: object) -> object:
    """A key that distinguishes 1, 1.0 and True, which are equal in Python but not in JSON."""
    if type(value) is tuple:
        return (value, *map(type, value))
    return (type(value), value)


def value_to_json(value: object) -> Any:
    """Tuples as lists, also those in tuples; anything else unchanged."""
    return [*map(value_to_json, value)] if isinstance(value, tuple) else value
