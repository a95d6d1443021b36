"""A cache of prepared weights, for trials whose programs have the same ``prepare``.

Most configs of a sketch differ only in ``main``, and compiling ``prepare`` is a large part of a
build.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from tunesmith.kernel import arrays
from tunesmith.operators import Argument
from tunesmith.whole_file import write_whole

# The cache's size in bytes. When it is full, each trial prepares its own weights.
_MOST = 256 << 20


def new_folder() -> Path:
    """An empty cache: a folder for a file of each ``prepare`` that has run.

    Trials of one operator share it. A file is written before ``main`` runs for the first time, so
    no candidate can have corrupted it; and each trial verifies its output.
    """
    return Path(tempfile.mkdtemp(prefix="weights-"))


def load(file: Path, argument: Argument) -> Any:
    """The cached weights as a tensor. Raises ``OSError`` if the file is missing or too short."""
    tensor = arrays.new_tensor(argument)
    memory = arrays.bytes_of(tensor)
    with file.open("rb", buffering=0) as opened:
        if opened.readinto(memory) != len(memory):
            raise OSError(f"{file} is too short")
    return tensor


def store(file: Path, tensor: Any) -> None:
    """Cache weights, unless the cache or the disk is full."""
    memory = arrays.bytes_of(tensor)
    with contextlib.suppress(OSError):
        used = sum(other.stat().st_size for other in file.parent.iterdir())
        if used + len(memory) <= _MOST:
            write_whole(file, memory)
