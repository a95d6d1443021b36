"""Reads spaces in the T1 format of public autotuning benchmarks.

A T1 file lists parameters, with values as the text of a Python list, and conditions, which are
Python-like expressions. Both are parsed, never executed. T1 has no factorizations, permutations or
tuples, so files that ``t1_text`` wrote hold the space in our own format as well.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tunesmith.errors import SpaceError
from tunesmith.space.constraint import Constraint
from tunesmith.space.parameters.categorical import Categorical
from tunesmith.space.parameters.ordinal import Ordinal
from tunesmith.space.parameters.parameter import Parameter
from tunesmith.space.space import Space
from tunesmith.space.value import quote

# Limits on what is parsed, far above any published space.
MAX_FILE_BYTES = 16 << 20
MAX_VALUES_LENGTH = 100_000

# The keys of the space in our own format.
OWN_SECTION = "Tunesmith"
OWN_SPACE = "space"

# T1's type names, with the Python types of their values.
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "uint": (int,),
    "float": (int, float),
    "bool": (bool, int),
    "string": (str,),
}


def read_t1(path: str | Path) -> Space:
    """The space of a T1 file.

    Parameters whose values are all numbers become Ordinal, all others Categorical; one with a
    single value remains a parameter. A text by ``t1_text`` gives exactly the space that was
    written. Raises SpaceError, naming file and part, for a file that cannot be read or is invalid.
    """
    path = Path(path)
    try:
        return _space(_load(path))
    except SpaceError as error:
        raise SpaceError(f"{path}: {error}") from error


def _load(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise SpaceError(f"larger than {MAX_FILE_BYTES} bytes: not a T1 file")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpaceError(f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SpaceError(f"not JSON: {error}") from error


def _space(document: Any) -> Space:
    if isinstance(document, Mapping) and OWN_SECTION in document:
        return Space.from_json(_field(document[OWN_SECTION], OWN_SPACE, OWN_SECTION, Mapping))
    space = _field(document, "ConfigurationSpace", "the file", Mapping)
    listed = _field(space, "TuningParameters", "ConfigurationSpace", Sequence)
    parameters = [_parameter(entry, f"TuningParameters[{i}]") for i, entry in enumerate(listed)]
    names = {parameter.name for parameter in parameters}
    conditions = _field(space, "Conditions", "ConfigurationSpace", Sequence, default=())
    constraints = [
        _constraint(entry, f"Conditions[{i}]", names) for i, entry in enumerate(conditions)
    ]
    return Space(parameters, constraints)


def _field(
    owner: Any, key: str, part: str, kind: type[Any], default: Sequence[Any] | None = None
) -> Any:
    """``owner[key]``, checked. ``part`` names ``owner`` in the SpaceError."""
    if not isinstance(owner, Mapping):
        raise SpaceError(f"{part} is {quote(owner)}, not an object")
    value = owner.get(key, default)
    if value is None:
        raise SpaceError(f"{part} lacks '{key}'")
    if not isinstance(value, kind) or (kind is Sequence and isinstance(value, str)):
        raise SpaceError(f"{part}: '{key}' is {quote(value)}, of the wrong type")
    return value


def _parameter(entry: Any, part: str) -> Parameter:
    name = _field(entry, "Name", part, str)
    part = f"{part} {quote(name)}"
    kind = _field(entry, "Type", part, str)
    if kind not in _TYPES:
        raise SpaceError(f"{part}: unknown Type {quote(kind)}: known: {', '.join(_TYPES)}")
    values = _values(_field(entry, "Values", part, object), part)
    for value in values:
        if type(value) not in _TYPES[kind]:
            raise SpaceError(f"{part}: {quote(value)} in 'Values' is not of Type {kind}")
    try:
        if all(type(value) in (int, float) for value in values):
            return Ordinal(name, values)
        return Categorical(name, values)
    except SpaceError as error:
        raise SpaceError(f"{part}: {error}") from error


def _values(written: Any, part: str) -> list[Any]:
    values = written
    if isinstance(written, str):
        if len(written) > MAX_VALUES_LENGTH:
            raise SpaceError(f"{part}: 'Values' has more than {MAX_VALUES_LENGTH} characters")
        try:
            values = ast.literal_eval(written.strip())
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
            raise SpaceError(f"{part}: 'Values' is {quote(written)}, not a list") from error
    if not isinstance(values, list | tuple):
        raise SpaceError(f"{part}: 'Values' is {quote(written)}, not a list")
    return list(values)


def _constraint(entry: Any, part: str, names: set[str]) -> Constraint:
    expression = _field(entry, "Expression", part, str)
    listed = _field(entry, "Parameters", part, Sequence, default=())
    try:
        constraint = Constraint(expression)
    except SpaceError as error:
        raise SpaceError(f"{part}: {error}") from error
    # Published files leave names out of ``Parameters``, so the expression's are checked, too.
    for name in (*listed, *constraint.names):
        if not isinstance(name, str) or name not in names:
            raise SpaceError(f"{part} reads the unknown parameter {quote(name)}")
    return constraint
