"""Writes spaces in the T1 format of public autotuning benchmarks.

T1 has only numbers and strings. A section of our own holds the exact space, which ``read_t1`` uses.
For other readers, tuples are written as strings with a JSON list, and conditions that read a tuple
are left out: those readers see too many configs rather than too few.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tunesmith.space.parameters.choice import Choice
from tunesmith.space.parameters.parameter import Parameter
from tunesmith.space.space import Space
from tunesmith.space.t1 import MAX_VALUES_LENGTH, OWN_SECTION, OWN_SPACE
from tunesmith.space.value import Scalar, Value

# Parameters with more values than this list none for other readers.
_MOST_LISTED = 10_000


def t1_text(space: Space, name: str) -> str:
    """The T1 file of a space, under the benchmark name ``name``.

    Raises SpaceError for a constraint that is a Python function.
    """
    listed = {parameter.name: _values(parameter) for parameter in space.parameters}
    plain = {p.name for p in space.parameters if isinstance(p, Choice) and not _has_tuples(p)}
    document = {
        "General": {"BenchmarkName": name, "OutputFormat": "JSON"},
        "ConfigurationSpace": {
            "TuningParameters": [
                {"Name": name, "Type": _type(values), "Values": _text(values)}
                for name, values in listed.items()
            ],
            "Conditions": [
                {"Expression": str(constraint), "Parameters": list(constraint.names)}
                for constraint in space.constraints
                if plain.issuperset(constraint.names)
            ],
        },
        OWN_SECTION: {OWN_SPACE: space.to_json()},
    }
    return json.dumps(document, indent=1) + "\n"


def t1_value(value: Value) -> Scalar:
    """A value as in T1 and T4: a tuple as the text of a JSON list, anything else unchanged."""
    return json.dumps(value, separators=(",", ":")) if isinstance(value, tuple) else value


def _has_tuples(parameter: Choice) -> bool:
    return any(isinstance(value, tuple) for value in parameter.values)


def _values(parameter: Parameter) -> Sequence[Scalar]:
    """All values, or none if there are too many to list."""
    if parameter.cardinality > _MOST_LISTED:
        return ()
    return [t1_value(parameter.value_at(index)) for index in range(parameter.cardinality)]


def _type(values: Sequence[Any]) -> str:
    kinds = set(map(type, values))
    for name, members in (("bool", {bool}), ("int", {int}), ("float", {int, float})):
        if kinds and kinds <= members:
            return name
    return "string"


def _text(values: Sequence[Any]) -> str:
    """The text of a Python list; mixed values become strings, as a parameter has one type."""
    if _type(values) == "string":
        values = [value if isinstance(value, str) else json.dumps(value) for value in values]
    text = repr(list(values))
    return text if len(text) <= MAX_VALUES_LENGTH else "[]"
