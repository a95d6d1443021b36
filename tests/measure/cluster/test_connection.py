"""Whether a cluster asks for a token, which Ray has to be told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.cli.command import eventually
from tests.patience import PATIENCE
from tunesmith.measure.cluster.connection import asks_for_token

# All processes of a machine are looked through: other workers have ports of their own.
PORT = 20_000 + os.getpid() % 40_000


@pytest.mark.parametrize(
    ("name", "asked", "mode", "asks"),
    [
        ("raylet", 0, "token", True),
        ("raylet", 0, "disabled", False),
        ("raylet", 0, "", False),
        ("raylet", 1, "token", False),
        ("another", 0, "token", False),
    ],
)
def test_a_node_that_asks_for_a_token(
    name: str, asked: int, mode: str, asks: bool, tmp_path: Path
) -> None:
    """The port that is ``asked`` for is this one, or so many above it."""
    program = tmp_path / name
    program.symlink_to(sys.executable)
    words = [str(program), "-c", "input()", f"--gcs-address=10.0.0.1:{PORT}"]
    environment = {**os.environ, "PYTHONHOME": sys.base_prefix, "RAY_AUTH_MODE": mode}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=environment) as process:
        try:
            started = psutil.Process(process.pid)
            # Its name is there before its environment is.
            eventually(lambda: started.environ().get("RAY_AUTH_MODE") == mode, "it has started")
            assert started.name() == name
            assert asks_for_token(PORT + asked) == asks
            assert process.poll() is None
        finally:
            process.kill()
            process.wait(PATIENCE)
