"""Reading T1 files: what becomes of them, and what is said about bad ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tunesmith.errors import SpaceError
from tunesmith.space import Categorical, Ordinal, read_t1

GOOD: dict[str, Any] = {
    "General": {"BenchmarkName": "example"},
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "block", "Type": "int", "Values": "[32, 16, 64]", "Default": 16},
            {"Name": "scale", "Type": "float", "Values": "[0.5, 1]"},
            {"Name": "layout", "Type": "string", "Values": "['row', 'column']"},
            {"Name": "padding", "Type": "bool", "Values": "[True, False]"},
            {"Name": "fixed", "Type": "uint", "Values": [7]},
        ],
        "Conditions": [
            {"Expression": "layout == 'row' or block <= 32", "Parameters": ["layout", "block"]},
            {"Expression": "not padding or block % 32 == 0", "Parameters": []},
        ],
    },
}


def written(folder: Path, document: Any) -> Path:
    path = folder / "space.T1.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def changed(*path: Any, to: Any) -> dict[str, Any]:
    """``GOOD`` with one entry of its space replaced, or removed where ``to`` is Ellipsis."""
    document = copy.deepcopy(GOOD)
    place: Any = document["ConfigurationSpace"]
    for key in path[:-1]:
        place = place[key]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return document


def test_numbers_become_ordinals_and_all_else_categoricals(tmp_path: Path) -> None:
    space = read_t1(written(tmp_path, GOOD))
    assert space.parameters == (
        Ordinal("block", [16, 32, 64]),
        Ordinal("scale", [0.5, 1]),
        Categorical("layout", ["row", "column"]),
        Categorical("padding", [True, False]),
        Ordinal("fixed", [7]),
    )
    # Of block, layout and padding: row with no padding 3, with padding 2; column 2 and 1.
    assert space.size == 2 * (3 + 2 + 2 + 1)


def test_conditions_may_be_missing(tmp_path: Path) -> None:
    space = read_t1(written(tmp_path, changed("Conditions", to=...)))
    assert space.constraints == ()
    assert space.size == space.cartesian_size == 24


FIRST = ("TuningParameters", 0)
CONDITION = ("Conditions", 0)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "the file is [], not an object"),
        ("{}", "the file lacks 'ConfigurationSpace'"),
        ('{"ConfigurationSpace": 3}', "'ConfigurationSpace' is 3, of the wrong type"),
        (changed("TuningParameters", to=...), "lacks 'TuningParameters'"),
        (changed("TuningParameters", to="x"), "'TuningParameters' is 'x', of the wrong type"),
        ('{"ConfigurationSpace": {"TuningParameters": []}}', "at least one parameter"),
        (changed("Conditions", to={}), "'Conditions' is {}, of the wrong type"),
        (changed(*FIRST, to="x"), "TuningParameters[0] is 'x', not an object"),
        (changed(*FIRST, "Name", to=...), "TuningParameters[0] lacks 'Name'"),
        (changed(*FIRST, "Name", to=3), "TuningParameters[0]: 'Name' is 3"),
        (changed("TuningParameters", 1, "Name", to="block"), "two parameters are called 'block'"),
        (changed(*FIRST, "Type", to=...), "TuningParameters[0] 'block' lacks 'Type'"),
        (changed(*FIRST, "Type", to="complex"), "'block': unknown Type 'complex'"),
        (changed(*FIRST, "Type", to="string"), "32 in 'Values' is not of Type string"),
        (changed(*FIRST, "Values", to=...), "'block' lacks 'Values'"),
        (changed(*FIRST, "Values", to="[]"), "'block' has no values"),
        (changed(*FIRST, "Values", to="[16, 16]"), "16 comes twice"),
        (changed(*FIRST, "Values", to="[16.5]"), "16.5 in 'Values' is not of Type int"),
        (changed(*FIRST, "Values", to="[True]"), "True in 'Values' is not of Type int"),
        (changed(*FIRST, "Values", to="16"), "'Values' is '16', not a list"),
        (changed(*FIRST, "Values", to=16), "'Values' is 16, not a list"),
        (changed(*FIRST, "Values", to="[16"), "'Values' is '[16', not a list"),
        (changed(*FIRST, "Values", to="[x]"), "'Values' is '[x]', not a list"),
        (changed(*FIRST, "Values", to="__import__('os').getcwd()"), "not a list"),
        (changed(*FIRST, "Values", to="[9**9**9]"), "not a list"),
        (changed(*FIRST, "Values", to="[i for i in range(9)]"), "not a list"),
        (changed(*FIRST, "Values", to="[" * 50_000), "not a list"),
        (changed(*FIRST, "Values", to="[" + "-" * 90_000 + "1]"), "not a list"),
        (changed(*FIRST, "Values", to="[" + "1," * 90_000 + "]"), "more than 100000 characters"),
        (changed("TuningParameters", 1, "Values", to="[1e999]"), "inf is not a finite number"),
        (changed(*CONDITION, to=5), "Conditions[0] is 5, not an object"),
        (changed(*CONDITION, "Expression", to=...), "Conditions[0] lacks 'Expression'"),
        (changed(*CONDITION, "Expression", to="block < x"), "unknown parameter 'x'"),
        (
            changed(*CONDITION, "Parameters", to=["y"]),
            "Conditions[0] reads the unknown parameter 'y'",
        ),
        (changed(*CONDITION, "Parameters", to=[["block"]]), "unknown parameter ['block']"),
        (changed(*CONDITION, "Expression", to="block.x > 1"), "Conditions[0]: expression 'block.x"),
        (changed(*CONDITION, "Expression", to="block > 1 && True"), "not Python syntax"),
        (changed(*CONDITION, "Expression", to="__import__('os')"), "is not allowed"),
    ],
)
def test_files_that_are_refused_in_one_line(tmp_path: Path, document: Any, problem: str) -> None:
    path = written(tmp_path, document)
    with pytest.raises(SpaceError) as caught:
        read_t1(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert problem in message
    assert "\n" not in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="cannot be read: No such file"):
        read_t1(tmp_path / "missing.json")
    with pytest.raises(SpaceError, match="cannot be read: Is a directory"):
        read_t1(tmp_path)
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpaceError, match="not JSON"):
        read_t1(binary)


def test_a_file_too_large_to_be_a_space_is_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(17 << 20)
    with pytest.raises(SpaceError, match="not a T1 file"):
        read_t1(large)
