"""Machine code that was compiled already: kept by the hash of its program, beside its source."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import platformdirs

from tunesmith.cuda.compiler import Cubin, Resources

# How much is kept, in bytes; what was used longest ago goes first.
_MOST = 1 << 30

# What was used in the last hour stays: a run may be about to load it; in seconds.
_SPARED = 3600.0


def default_folder() -> Path:
    """Where a user's machine code is kept."""
    return platformdirs.user_cache_path("tunesmith", appauthor=False) / "cuda"


class KeptPrograms:
    """A folder with three files a program: its CUDA C++, its machine code, and what that takes.

    They are called by the program's hash, the instruction set, and a hash of the source and of how
    it was compiled: ``compiler`` says by what. A folder that cannot be written to keeps nothing,
    and does no harm.
    """

    def __init__(self, folder: Path, compiler: str) -> None:
        self._folder = folder
        self._compiler = compiler

    def compiled(
        self, program_hash: str, arch: str, source: str, compile: Callable[[], Cubin]
    ) -> tuple[Cubin, Path]:
        """A program's machine code, and the file that has it; only what is new is compiled.

        Raises what ``compile`` raises, and ``OSError`` where no file can be written at all.
        """
        text = f"// {self._compiler}\n{source}"
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        stem = self._folder / f"{program_hash}-{arch}-{digest}"
        code = stem.with_suffix(".cubin")
        with contextlib.suppress(OSError, ValueError, TypeError):
            if stem.with_suffix(".cu").read_text(encoding="utf-8") == text:
                told = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
                resources = {name: Resources(**used) for name, used in told.items()}
                cubin = Cubin(code.read_bytes(), source, resources)
                os.utime(code)  # it was of use just now
                return cubin, code
        cubin = compile()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            told = {name: asdict(used) for name, used in cubin.resources.items()}
            # The source comes last, for it is what says that the others are there.
            _write(code, cubin.code)
            _write(stem.with_suffix(".json"), json.dumps(told).encode())
            _write(stem.with_suffix(".cu"), text.encode())
        except OSError:
            code = Path(tempfile.mkdtemp()) / code.name  # of this run alone
            code.write_bytes(cubin.code)
        return cubin, code

    def shrink(self, most: int = _MOST, spare: float = _SPARED) -> None:
        """Remove what was used longest ago, until no more than ``most`` bytes are left.

        What was used in the last ``spare`` seconds stays: somebody may be about to load it.
        """
        programs: dict[str, list[tuple[Path, os.stat_result]]] = {}
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*-sm_*"):
                programs.setdefault(path.name.partition(".")[0], []).append((path, path.stat()))
            total = sum(stat.st_size for files in programs.values() for _, stat in files)
            by_age = sorted(
                (max(stat.st_mtime for _, stat in files), files) for files in programs.values()
            )
            for used, files in by_age:
                if total <= most or used > time.time() - spare:
                    break
                for path, stat in files:
                    path.unlink(missing_ok=True)
                    total -= stat.st_size


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; what is left of a draft goes with the program."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
