"""The list of what was skipped, as a run of pytest prints it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

SKIPS = """
import pytest

@pytest.mark.skipif(True, reason="no GPU")
def test_one(): ...

@pytest.mark.parametrize("n", [1, 2])
def test_two(n):
    pytest.skip("no network,\\n  none at all")

@pytest.mark.skip
def test_three(): ...

def test_four(): ...
"""
WHOLE_FILE = """
import pytest
pytest.importorskip("no_such_module", reason="no GPU")
"""


def summary(folder: Path, **files: str) -> list[str]:
    """What a run over these files prints from the heading of the list on."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "tests.skips", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, f"--rootdir={folder}", "-c", "/dev/null", folder],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    _, heading, rest = ran.stdout.partition(" what was skipped ")
    return [line for line in rest.splitlines()[1:] if line] if heading else []


def test_skips_are_listed_by_reason_with_their_number_and_place(tmp_path: Path) -> None:
    listed = summary(tmp_path, test_some=SKIPS, test_whole=WHOLE_FILE)
    assert listed[:-1] == [
        "2 because: no GPU",
        "    1 in test_some.py",
        "    1 in test_whole.py",
        "2 because: no network, none at all",
        "    2 in test_some.py",
        "1 because: no reason was given",
        "    1 in test_some.py",
    ]
    assert "1 passed, 5 skipped" in listed[-1]


def test_nothing_is_listed_where_nothing_was_skipped(tmp_path: Path) -> None:
    assert summary(tmp_path, test_none="def test_one(): ...\n") == []
