"""Command problems from TOML files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tunesmith.errors import SpaceError, UsageError
from tunesmith.measure.command.measurer import CommandProblem
from tunesmith.measure.command.spec import CommandSpec, TuneOptions, read_command_spec
from tunesmith.problem import MeasureSettings
from tunesmith.space import (
    Categorical,
    Config,
    Constraint,
    Factorization,
    Ordinal,
    Permutation,
    Space,
)
from tunesmith.testing.trials import candidates

FULL = """
[command]
template = "echo {level} {word} {tile[0]} {order}"
build = "true"
shell = false
parse = "(\\\\d+)"
name = "mine"
cwd = "sub"
env = { A = "1" }
build_timeout = 3
run_timeout = 0.5
repeats = 2
finalists = 1

[[parameter]]
kind = "ordinal"
name = "level"
values = [0, 1, 2]

[[parameter]]
kind = "categorical"
name = "word"
values = ["x", "y"]

[[parameter]]
kind = "factorization"
name = "tile"
product = 8
parts = 2

[[parameter]]
kind = "permutation"
name = "order"
items = ["i", "j"]

[[constraint]]
expression = "tile[0] > level"

[default]
level = 1
word = "y"
tile = [2, 4]
order = ["j", "i"]

[tune]
tuner = "genetic"
trials = 10
seconds = 60
seed = 0
"""

LEAST = """
[command]
template = "echo {level}"
[[parameter]]
kind = "ordinal"
name = "level"
values = [0, 1]
"""

Read = Callable[[str], CommandSpec]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def write_and_read(text: str) -> CommandSpec:
        path = tmp_path / "spec.toml"
        path.write_text(text)
        return read_command_spec(path)

    return write_and_read


def test_every_key(read: Read, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    spec = read(FULL)
    space = Space(
        [
            Ordinal("level", (0, 1, 2)),
            Categorical("word", ("x", "y")),
            Factorization("tile", 8, 2),
            Permutation("order", ("i", "j")),
        ],
        [Constraint("tile[0] > level")],
    )
    same = CommandProblem(
        space,
        "echo {level} {word} {tile[0]} {order}",
        build="true",
        parse=r"(\d+)",
        name="mine",
        cwd=tmp_path / "sub",
        env={"A": "1"},
    )
    assert spec.problem.space == space
    assert spec.problem.key == same.key
    assert spec.problem.cwd == tmp_path / "sub"
    assert spec.problem.finalists == 1
    assert spec.problem.default == Config(
        {"level": 1, "word": "y", "tile": (2, 4), "order": ("j", "i")}
    )
    assert spec.settings == MeasureSettings(build_timeout=3, run_timeout=0.5, repeats=2)
    assert spec.tune == TuneOptions(tuner="genetic", trials=10, seconds=60, seed=0)


def test_the_least_there_can_be(read: Read, tmp_path: Path) -> None:
    spec = read(LEAST)
    assert spec.problem.cwd == tmp_path
    assert spec.problem.default is None
    assert spec.settings == MeasureSettings()
    assert spec.tune == TuneOptions()
    with spec.problem.measurer(spec.settings) as measurer:
        measurer.submit(candidates([Config({"level": 1})]))
        assert [m.valid for m in measurer.collect(0.0)] == [True]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("[command]", "[comand]", "unknown key in the file 'comand': did you mean command?"),
        ("template", "tenplate", "unknown key in [command] 'tenplate': did you mean template"),
        ('"echo {level}"', "3", "[command]: template must be a text, not 3"),
        ('"echo {level}"', '"echo {levl}"', "unknown field 'levl': did you mean level?"),
        ('template = "echo {level}"', "", "[command] has no template: write it"),
        ("[[parameter]]", "[parameter]", "parameter must be an array of tables"),
        ('kind = "ordinal"', "", "a [[parameter]] has no kind: write one of categorical"),
        ('"ordinal"', '"ordinary"', "unknown kind of parameter 'ordinary': did you mean ordinal"),
        ("values", "value", "unknown key of ordinal parameter 'value': did you mean values?"),
        ("values = [0, 1]", "", "lacks the field 'values'"),
        ("values = [0, 1]", "values = []", "has no values"),
        ("values = [0, 1]", "values = 3", "values are 3: give a list"),
        ("[0, 1]", "[0, 1]\n[tune]\ntrial = 3", "unknown key in [tune] 'trial': did you mean"),
        ("[0, 1]", "[0, 1]\n[tune]\ntrials = 0", "trials must be a positive integer, not 0"),
        ("[0, 1]", "[0, 1]\n[tune]\ntrials = true", "trials must be a positive integer"),
        ("[0, 1]", "[0, 1]\n[tune]\nseconds = -1.0", "seconds must be a positive number of sec"),
        ("[0, 1]", "[0, 1]\n[tune]\nseconds = inf", "seconds must be a positive number of sec"),
        ("[0, 1]", "[0, 1]\n[tune]\nseed = -1", "seed must be an integer from 0 on, not -1"),
        ("[0, 1]", "[0, 1]\n[[constraint]]\nexpresion = 'x'", "did you mean expression?"),
        ("[0, 1]", "[0, 1]\n[[constraint]]", "[[constraint]] has no expression: write it"),
        ("[0, 1]", "[0, 1]\n[[constraint]]\nexpression = 'n > 1'", "'n'"),
        ("[0, 1]", "[0, 1]\n[default]\nlevel = 9", "is not in the space"),
        ("[[par", "env = { A = 1 }\n[[par", "[command]: env must be a table of texts"),
        ("[[par", "shell = 1\n[[par", "[command]: shell must be true or false, not 1"),
        ("[[par", 'cwd = "none"\n[[par', "does not exist"),
        ("[[par", "repeats = 0\n[[par", "[command]: repeats must be a positive integer, not 0"),
        ("[0, 1]", "[0, 1", "is not TOML"),
        ("template =", "template", "line 3"),
    ],
)
def test_mistakes_are_one_line_with_the_file(
    read: Read, tmp_path: Path, old: str, new: str, reason: str
) -> None:
    assert old in LEAST
    with pytest.raises(UsageError) as caught:
        read(LEAST.replace(old, new, 1))
    assert str(caught.value).startswith(str(tmp_path / "spec.toml"))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_space_is_a_space_error(read: Read) -> None:
    with pytest.raises(SpaceError):
        read(LEAST.replace("[0, 1]", "[]"))


def test_a_file_without_parameters(read: Read) -> None:
    with pytest.raises(UsageError, match="the file has no parameter: write it"):
        read('[command]\ntemplate = "true"\n')


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "cannot read .*: No such file or directory"),
        (lambda path: path.mkdir(), "cannot read .*: Is a directory"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_read(
    tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    path = tmp_path / "spec.toml"
    make(path)
    with pytest.raises(UsageError, match=reason):
        read_command_spec(str(path))
