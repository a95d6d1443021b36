"""Machine code that was compiled already: kept by the hash of its program, beside its source."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import platformdirs

from tunesmith.cuda.compiler import Cubin, Resources

# How much is kept, in bytes; what was used longest ago goes first.
_MOST = 1 << 30


def default_folder() -> Path:
    """Where a user's machine code is kept."""
    return platformdirs.user_cache_path("tunesmith", appauthor=False) / "cuda"


class KeptPrograms:
    """A folder with three files a program: its CUDA C++, its machine code, and what that takes.

    ``HASH-ARCH.cu`` begins with how it was compiled, so code of another compiler or other options
    is compiled anew. A folder that cannot be written to keeps nothing, and does no harm.
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
        stem = self._folder / f"{program_hash}-{arch}"
        text = f"// {self._compiler}\n{source}"
        code = stem.with_suffix(".cubin")
        with contextlib.suppress(OSError, ValueError, TypeError):
            if stem.with_suffix(".cu").read_text(encoding="utf-8") == text:
                told = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
                resources = {name: Resources(**used) for name, used in told.items()}
                os.utime(code)  # it was of use just now
                return Cubin(code.read_bytes(), source, resources), code
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

    def shrink(self, most: int = _MOST) -> None:
        """Remove what was used longest ago, until no more than ``most`` bytes are left."""
        with contextlib.suppress(OSError):
            found = [(path, path.stat()) for path in self._folder.glob("*-sm_*.*")]
            total = sum(stat.st_size for _, stat in found)
            for path, stat in sorted(found, key=lambda one: one[1].st_mtime):
                if total <= most:
                    break
                path.unlink(missing_ok=True)
                total -= stat.st_size


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
