"""Writes spaces in the T1 format of public autotuning benchmarks, for ``read_t1`` and for others.

T1 knows numbers and strings. What it cannot say, our own section of the file does, from which
``read_t1`` takes the whole space. For others, tuples are strings that hold a JSON list, and a
condition that reads a tuple is left out, so that they see too many configs rather than too few.
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

# More values of a parameter than this are not listed for others.
_MOST_LISTED = 10_000


def t1_text(space: Space, name: str) -> str:
    """The T1 file of a space, which is called ``name`` in it.

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
    """A value as T1 and T4 have it: a tuple as the text of a JSON list, all else as it is."""
    return json.dumps(value, separators=(",", ":")) if isinstance(value, tuple) else value


def _has_tuples(parameter: Choice) -> bool:
    return any(isinstance(value, tuple) for value in parameter.values)


def _values(parameter: Parameter) -> Sequence[Scalar]:
    """All values, or none where they are too many to list."""
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
    """A Python list; of mixed values one of strings, for a parameter has but one type."""
    if _type(values) == "string":
        values = [value if isinstance(value, str) else json.dumps(value) for value in values]
    text = repr(list(values))
    return text if len(text) <= MAX_VALUES_LENGTH else "[]"
