"""Constraints that no config meets: one line about them, in bounded time, whatever the tuner."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tunesmith.space.enumeration import component

NEEDS = {"na2c": "torch", "autotvm": "xgboost", "controller": "torch"}
TUNERS = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name in NEEDS and find_spec(NEEDS[name]) is None, reason="its model is not installed"
        ),
    )
    for name in (
        *("annealing", "auto", "autotvm", "controller", "gbfs", "genetic", "grid", "na2c"),
        *("nose", "opevo", "random"),
    )
]
NAMES = "abcdefgh"


def spec(folder: Path, constraint: str) -> Path:
    """A spec with eight parameters of a hundred values each."""
    path = folder / "spec.toml"
    parameters = [
        f"[[parameter]]\nkind = 'ordinal'\nname = '{name}'\nvalues = {list(range(100))}\n"
        for name in NAMES
    ]
    path.write_text(
        f"[command]\ntemplate = 'true {{{'} {'.join(NAMES)}}}'\n"
        + "\n".join(parameters)
        + f"[[constraint]]\nexpression = '{constraint}'\n"
    )
    return path


@pytest.mark.parametrize("tuner", TUNERS)
def test_none_of_those_that_can_be_counted(
    tuner: str, command: Command, tmp_path: Path, store: Path
) -> None:
    words = ["tune-command", spec(tmp_path, "a + b > 300"), "--store", store, "--tuner", tuner]
    ran = command(*words)
    assert "no config satisfies 'a + b > 300': loosen them" in ran.complaint
    assert ran.code == 2


@pytest.mark.parametrize("tuner", TUNERS)
def test_none_is_found_where_they_cannot_be_counted(
    tuner: str, command: Command, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(component, "ROW_LIMIT", 100_000)
    monkeypatch.setattr(component, "_MAX_DRAWS", 20_000)
    never = f"({' + '.join(NAMES)}) % 7 == 9"
    words = ["tune-command", spec(tmp_path, never), "--store", store, "--tuner", tuner]
    ran = command(*words)
    assert f"found no valid config in 20,000 draws: loosen '{never}'" in ran.complaint
    assert ran.code == 2
