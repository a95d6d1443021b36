"""Spaces as T1 files: ours read back what was written, others what T1 can say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.properties import examples
from tests.space.strategies import spaces
from tunesmith.errors import SpaceError
from tunesmith.space import (
    Categorical,
    Constraint,
    Factorization,
    Ordinal,
    Permutation,
    Space,
    read_t1,
    t1_text,
)

PLAIN = Space(
    [
        Ordinal("block", (16, 32)),
        Ordinal("share", (0.5, 1)),
        Categorical("cached", (True, False)),
        Categorical("layout", ("NCHW", "NHWC")),
    ],
    ["block < 32 or cached", "layout == 'NCHW' or block > 16"],
)
TUPLES = Space(
    [
        Factorization("tile", 6, 2),
        Permutation("order", ("i", "j")),
        Categorical("mixed", (1, "x", (2, 3))),
        Ordinal("unroll", (0, 4)),
    ],
    ["tile[0] <= 3", "unroll < 4 or mixed == 1", "unroll < 5"],
)


def written(folder: Path, space: Space) -> Path:
    path = folder / "space.T1.json"
    path.write_text(t1_text(space, "the name"))
    return path


def for_others(path: Path) -> dict[str, Any]:
    """The file without what only we read."""
    whole = json.loads(path.read_text())
    del whole["Tunesmith"]
    assert isinstance(whole, dict)
    return whole


@pytest.mark.parametrize("space", [PLAIN, TUPLES])
def test_the_same_space_comes_back(tmp_path: Path, space: Space) -> None:
    assert read_t1(written(tmp_path, space)) == space


@examples(50)
@given(space=spaces())
def test_any_space_comes_back(tmp_path_factory: pytest.TempPathFactory, space: Space) -> None:
    assert read_t1(written(tmp_path_factory.mktemp("t1"), space)) == space


def test_what_t1_can_say_needs_nothing_of_ours(tmp_path: Path) -> None:
    path = written(tmp_path, PLAIN)
    path.write_text(json.dumps(for_others(path)))
    assert read_t1(path) == PLAIN


def test_what_others_see_of_tuples(tmp_path: Path) -> None:
    path = written(tmp_path, TUPLES)
    others = for_others(path)
    assert others["General"]["BenchmarkName"] == "the name"
    listed = others["ConfigurationSpace"]
    values = {each["Name"]: (each["Type"], each["Values"]) for each in listed["TuningParameters"]}
    assert values == {
        "tile": ("string", "['[1,6]', '[3,2]', '[2,3]', '[6,1]']"),
        "order": ("string", """['["i","j"]', '["j","i"]']"""),
        "mixed": ("string", "['1', 'x', '[2,3]']"),
        "unroll": ("int", "[0, 4]"),
    }
    assert [each["Expression"] for each in listed["Conditions"]] == ["unroll < 5"]
    path.write_text(json.dumps(others))
    assert read_t1(path).cartesian_size == TUPLES.cartesian_size


def test_a_parameter_of_too_many_values_is_listed_for_nobody(tmp_path: Path) -> None:
    space = Space([Permutation("order", tuple("abcdefghij")), Ordinal("n", tuple(range(20_000)))])
    path = written(tmp_path, space)
    listed = for_others(path)["ConfigurationSpace"]["TuningParameters"]
    assert [each["Values"] for each in listed] == ["[]", "[]"]
    assert path.stat().st_size < 1_000_000
    assert read_t1(path) == space


def test_a_constraint_that_is_a_function_cannot_be_written() -> None:
    odd = Constraint.of(["unroll"], lambda unroll: unroll % 2, "odd")
    with pytest.raises(SpaceError, match="'odd' is a Python function, which JSON cannot hold"):
        t1_text(Space([Ordinal("unroll", (1, 2))], [odd]), "odd")


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        (3, "Tunesmith is 3, not an object"),
        ({}, "Tunesmith lacks 'space'"),
        ({"space": []}, "Tunesmith: 'space' is [], of the wrong type"),
        ({"space": {}}, "is not a space: it lacks 'format'"),
    ],
)
def test_a_section_of_ours_that_is_damaged(tmp_path: Path, section: Any, problem: str) -> None:
    path = written(tmp_path, PLAIN)
    path.write_text(json.dumps({**for_others(path), "Tunesmith": section}))
    with pytest.raises(SpaceError) as caught:
        read_t1(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert problem in str(caught.value)
