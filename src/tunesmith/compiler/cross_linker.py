"""Linkers and C compilers for other architectures than this machine's.

A program needs nothing of another library but the C library's functions, which the process that
loads it has. So a linker is enough, without a compiler or the other machine's libraries.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from tunesmith.errors import MissingDependencyError

# lld's names of GNU's linker emulations.
_EMULATIONS = {"aarch64": "aarch64linux", "x86_64": "elf_x86_64"}


def linker_for(architecture: str) -> tuple[str, ...]:
    """The command that links for an architecture, as ``uname -m`` tells it.

    Raises ``MissingDependencyError`` if there is none.
    """
    gnu = f"{architecture}-linux-gnu-ld"
    candidates: list[tuple[str, ...]] = [(gnu,)]
    if architecture == platform.machine():
        candidates.append(("ld",))
    if architecture in _EMULATIONS:
        candidates.append(("ld.lld", "-m", _EMULATIONS[architecture]))
    for command in candidates:
        if shutil.which(command[0]) is not None:
            return command
    raise MissingDependencyError(
        f"building for {architecture} needs a linker: install lld, or GNU binutils for it ({gnu})"
    )


def c_compiler_for(architecture: str) -> tuple[str, ...] | None:
    """The command that compiles C for an architecture, without a system's headers; None if there
    is none."""
    platform_name = f"{architecture}-linux-gnu"
    candidates: list[tuple[str, ...]] = [
        (f"{platform_name}-gcc",),
        ("clang", f"--target={platform_name}", "-ffreestanding"),
    ]
    if architecture == platform.machine():
        candidates.append(("gcc",))
    return next((each for each in candidates if shutil.which(each[0]) is not None), None)


class CrossLinker:
    """Links object files to a shared library with a command, as TVM asks for it.

    Raises ``RuntimeError`` with the linker's output if it fails.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command

    def __call__(self, library: str, objects: Sequence[str], **_: Any) -> None:
        words = [*self._command, "-shared", "-o", library, *objects]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
