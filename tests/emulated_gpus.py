"""Runs tests, or a program, in a process that sees emulated GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tunesmith.errors import MissingDependencyError
from tunesmith.testing.emulated_gpu import environment

_FOLDER = Path(__file__).parent / "emulated"


def emulated(**settings: Any) -> dict[str, str]:
    """The environment with emulated GPUs, as ``environment`` makes it; skips where it cannot."""
    try:
        made = environment(**settings)
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return {**made, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


def run_emulated(*files: str, **settings: Any) -> None:
    """Run the tests of files in ``tests/emulated``. Fails with what pytest says of them."""
    options = ["-q", "-p", "no:cacheprovider", *(str(_FOLDER / file) for file in files)]
    command = [sys.executable, "-m", "pytest", *options]
    ran = subprocess.run(
        command, env=emulated(**settings), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def program_output(program: str, *arguments: object, **settings: Any) -> str:
    """What a Python program prints. Fails with its errors where it fails."""
    ran = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=emulated(**settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
