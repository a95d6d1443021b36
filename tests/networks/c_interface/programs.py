"""Programs in C, compiled and run in the folder of the examples."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.patience import PATIENCE

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a program in the folder, without what a shell may tell TVM."""
    environment = {name: value for name, value in os.environ.items() if name != "TVM_NUM_THREADS"}
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def compile_c(c_compiler: str, folder: Path, text: str, *options: str) -> Path:
    """A program of the folder; the compiler has nothing to say."""
    (folder / "program.c").write_text(text)
    ran = run(folder, c_compiler, "-std=gnu11", *STRICT, "program.c", *options, "-o", "program")
    assert (ran.returncode, ran.stderr) == (0, "")
    return folder / "program"
