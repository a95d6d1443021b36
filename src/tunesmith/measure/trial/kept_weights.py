"""Weights as ``prepare`` of a program lays them out, kept for trials whose programs do the same.

Most configs of a sketch differ only in what ``main`` does. To compile ``prepare`` for each of them
again is a good part of a build.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunesmith.kernel import arrays
from tunesmith.operators import Argument
from tunesmith.sketches.tir.weights import PREPARE
from tunesmith.whole_file import write_whole

# How much is kept, in bytes; what comes later is laid out by each trial for itself.
_MOST = 256 << 20


@dataclass(frozen=True)
class KeptWeights:
    """A folder with a file for each ``prepare`` that has run. Trials of one operator share it.

    A file is written before ``main`` runs for the first time, so no program that writes where it
    should not can have touched it; and what comes of it is verified in each trial.
    """

    folder: Path

    @classmethod
    def of_new_folder(cls) -> KeptWeights:
        """Nothing kept, in a new folder among the temporary files."""
        return cls(Path(tempfile.mkdtemp(prefix="weights-")))

    def file(self, program: Any) -> Path:
        """Where the weights of a program are kept, if they are: by the hash of its ``prepare``."""
        import tvm_ffi

        return self.folder / f"{tvm_ffi.structural_hash(program[PREPARE]) & (1 << 64) - 1:016x}"


def load(file: Path, argument: Argument) -> Any:
    """The tensor of such weights. Raises ``OSError`` where the file is not there or too short."""
    tensor = arrays.new_tensor(argument)
    memory = arrays.bytes_of(tensor)
    with file.open("rb", buffering=0) as opened:
        if opened.readinto(memory) != len(memory):
            raise OSError(f"{file} is too short")
    return tensor


def keep(file: Path, tensor: Any) -> None:
    """Keep weights, unless there are too many or the disk is full."""
    memory = arrays.bytes_of(tensor)
    with contextlib.suppress(OSError):
        kept = sum(other.stat().st_size for other in file.parent.iterdir())
        if kept + len(memory) > _MOST:
            return
        write_whole(file, memory)
