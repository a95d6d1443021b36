"""A cache of compiled GPU programs on disk, by the hash of the program."""

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
from tunesmith.whole_file import write_whole

# The cache's size in bytes; the least recently used programs go first.
_MOST = 1 << 30

# Programs used in the last hour (in seconds) stay: a run may be about to load them.
_SPARED = 3600.0


def default_folder() -> Path:
    """The user's cache folder for machine code."""
    return platformdirs.user_cache_path("tunesmith", appauthor=False) / "cuda"


class ProgramCache:
    """A folder with three files per program: its CUDA C++, its machine code, and its resources.

    Their names consist of the program's hash, the architecture, and a hash of the source and of
    ``compiler``, the text that identifies the compiler and its options. If the folder cannot be
    written to, nothing is cached.
    """

    def __init__(self, folder: Path, compiler: str) -> None:
        self._folder = folder
        self._compiler = compiler

    def compiled(
        self, program_hash: str, arch: str, source: str, compile: Callable[[], Cubin]
    ) -> tuple[Cubin, Path]:
        """A program's machine code from the cache or from ``compile``, and the file that holds it.

        Raises what ``compile`` raises, and ``OSError`` if not even a temporary file can be written.
        """
        text = f"// {self._compiler}\n{source}"
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        stem = self._folder / f"{program_hash}-{arch}-{digest}"
        code = stem.with_suffix(".cubin")
        with contextlib.suppress(OSError, ValueError, TypeError):
            if stem.with_suffix(".cu").read_text(encoding="utf-8") == text:
                saved = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
                resources = {name: Resources(**used) for name, used in saved.items()}
                cubin = Cubin(code.read_bytes(), source, resources)
                os.utime(code)  # the time of last use, for shrink
                return cubin, code
        cubin = compile()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            listed = {name: asdict(used) for name, used in cubin.resources.items()}
            # The source comes last: a reader that finds it finds the others, too.
            write_whole(code, cubin.code)
            write_whole(stem.with_suffix(".json"), json.dumps(listed))
            write_whole(stem.with_suffix(".cu"), text)
        except OSError:
            code = Path(tempfile.mkdtemp()) / code.name  # for this run only
            code.write_bytes(cubin.code)
        return cubin, code

    def shrink(self, most: int = _MOST, spare: float = _SPARED) -> None:
        """Remove the least recently used programs until at most ``most`` bytes are left.

        Programs used in the last ``spare`` seconds stay: a run may be about to load them.
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
