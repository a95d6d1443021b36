"""All processes that come from one, wherever they have gone: they inherit its environment."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil


def family(variable: str, value: str) -> list[psutil.Process]:
    """All living processes in whose environment the variable has the value."""
    wanted = f"{variable}={value}".encode()
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            if wanted in (directory / "environ").read_bytes().split(b"\0"):
                found.append(psutil.Process(int(directory.name)))
    return found
