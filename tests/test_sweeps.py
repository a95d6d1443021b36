"""Sweeps are run where they are asked for, as far as that, and until they have passed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TESTS = """
import pytest
from tests.sweeps import share_of

def test_plain(): ...

@pytest.mark.thorough
@pytest.mark.parametrize("part", "ab")
def test_sweep(part, pytestconfig):
    print("part", part, share_of(200, pytestconfig))
    assert part == "a"
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """A folder with tests, as the first words of a command that runs them."""
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "empty.ini").write_text("[pytest]\nmarkers = thorough: a sweep\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.sweeps", "-p", "no:cacheprovider"]
    return [*command, f"--rootdir={tmp_path}", "-c", f"{tmp_path}/empty.ini", "-rP", f"{tmp_path}"]


def printed(command: list[str], *words: str) -> str:
    """What pytest says with these options."""
    ran = subprocess.run(
        [*command, *words],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert "usage:" not in ran.stderr, ran.stderr
    return ran.stdout


def test_they_are_left_out_unless_asked_for(command: list[str]) -> None:
    assert "1 passed, 2 deselected" in printed(command)
    assert "1 passed, 2 deselected" in printed(command, "-m", "not alone")
    said = printed(command, "-m", "thorough", "--sweep-scale", "0.1")
    assert "1 failed, 1 passed, 1 deselected" in said
    assert "part a 20" in said


def test_what_has_passed_is_left_out_the_next_time(command: list[str], tmp_path: Path) -> None:
    words = ("-m", "thorough", "--sweep-log", str(tmp_path / "new" / "passed"))
    assert "1 failed, 1 passed, 1 deselected" in printed(command, *words)
    assert (tmp_path / "new" / "passed").read_text() == "test_some.py::test_sweep[a]\n"
    assert "1 failed, 2 deselected" in printed(command, *words)
