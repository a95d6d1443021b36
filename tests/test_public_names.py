"""What ``import tunesmith`` offers, and what it costs."""

from __future__ import annotations

import ast
import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import tunesmith
from tests.patience import PATIENCE

HEAVY = ("tvm", "tvm_ffi", "torch", "numpy", "sqlalchemy", "alembic", "plotly", "rich", "typer")


def loaded_by(statements: str) -> set[str]:
    """The modules that a new process has after these statements."""
    script = f"{statements}\nimport sys\nprint(*sys.modules)"
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    return set(ran.stdout.split())


def heavy(modules: set[str]) -> list[str]:
    return [name for name in HEAVY if name in modules]


@pytest.mark.parametrize("name", tunesmith.__all__)
def test_every_name_is_there(name: str) -> None:
    value = getattr(tunesmith, name)
    assert value.__name__.rpartition(".")[2] == name


def test_the_names_are_sorted_and_listed_once() -> None:
    names = tunesmith.__all__
    assert names == sorted(set(names))
    assert dir(tunesmith) == names


def test_a_star_import_brings_them() -> None:
    names: dict[str, object] = {}
    exec("from tunesmith import *", names)
    assert set(tunesmith.__all__) <= set(names)


def test_editors_and_type_checkers_see_the_same_names() -> None:
    """What is imported for type checkers alone is what the module gives when it runs."""
    tree = ast.parse(Path(str(tunesmith.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(homes) == tunesmith.__all__
    for name, home in homes.items():
        whole = importlib.import_module(str(home))
        assert getattr(whole, name) is getattr(tunesmith, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tunesmith' has no attribute 'tuna'"):
        _ = tunesmith.tuna  # type: ignore[attr-defined]


def test_the_package_itself_loads_nothing_else() -> None:
    modules = loaded_by("import tunesmith")
    assert heavy(modules) == []
    assert [name for name in modules if name.startswith("tunesmith")] == ["tunesmith"]


@pytest.mark.parametrize(
    ("names", "allowed"),
    [
        ("TunesmithError, UsageError, Budget, Stop, Outcome, Measurement", []),
        ("Space, Factorization, Config, read_t1, tuners", ["numpy"]),
        ("operators, FunctionProblem, CommandProblem, Target, Task", ["numpy"]),
        ("Record, open_store, tune, Result, Kernel, sketches", ["numpy"]),
    ],
)
def test_a_name_loads_no_more_than_it_needs(names: str, allowed: list[str]) -> None:
    assert heavy(loaded_by(f"from tunesmith import {names}")) == allowed


def test_the_example_is_right() -> None:
    results = doctest.testmod(tunesmith)
    assert results.failed == 0
    assert results.attempted == 2


def test_the_packages_say_that_they_are_typed() -> None:
    assert (Path(str(tunesmith.__file__)).parent / "py.typed").is_file()
