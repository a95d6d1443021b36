"""A GPU without a GPU: CUDA code runs on the CPU, thread by thread, behind a driver of its own.

It is for tests: is a program right, and is everything around it, where there is no GPU? The driver
(``driver.cpp``) has CUDA's functions by their names, and so have parts of the runtime and of
the management library; ``nvcc.py`` stands in for the compiler. The threads of a block are fibers
(``device.hpp``), blocks run one after the other, and memory is NaN until it is written. So what a
barrier is missing for shows as a wrong result, as far as it matters in that order; threads that do
not all come to the same barrier, and accesses outside of memory, are the errors that they are on a
GPU. It is slow, and tells nothing of speed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from tunesmith.errors import MissingDependencyError, TunesmithError

_HERE = Path(__file__).parent

# What each library is made of, and what else it needs.
_LIBRARIES = {
    "libcuda.so.1": ("driver.cpp", ["-ldl"]),
    "libcudart.so.13": ("runtime.cpp", ["-l:libcuda.so.1", "-Wl,--version-script=runtime.map"]),
    "libnvidia-ml.so.1": ("management.cpp", []),
}

# How code for GPUs is compiled. The header that all of it includes is compiled ahead, with the same
# options, or else the compiler would not take it: that is most of the time of a small program.
CODE_OPTIONS = ("-O1", "-w", "-shared", "-fPIC", "-std=c++17", "-fno-strict-aliasing")
HEADER = "device.hpp"

# TVM's library asks for the runtime's functions by this version.
_VERSIONS = "libcudart.so.13 { global: *; };\n"

_PROBLEM = "a GPU cannot be emulated"


def cpp_compiler() -> str:
    """The path of the C++ compiler. Raises ``MissingDependencyError`` if there is none."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise MissingDependencyError("a C++ compiler is needed to emulate a GPU")
    return compiler


def run_compiler(command: list[str], folder: Path, problem: str) -> None:
    """Run a command in a folder. Raises ``TunesmithError`` with ``problem`` if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TunesmithError(f"{problem}: {done.stderr.strip()[:500]}")


@lru_cache(maxsize=1)
def libraries() -> Path:
    """The folder of the libraries and of ``nvcc``, made once on a machine.

    Raises ``MissingDependencyError`` without a C++ compiler.
    """
    compiler = cpp_compiler()
    sources = sorted(path for path in _HERE.iterdir() if path.suffix in (".hpp", ".cpp"))
    parts = [source.read_bytes() for source in sources]
    digest = hashlib.sha256(b"".join(parts) + sys.executable.encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"tunesmith-emulated-gpu-{os.getuid()}-{digest}")
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            _make(compiler, Path(made, "made"))
            try:
                Path(made, "made").rename(folder)
            except OSError:
                if not folder.is_dir():  # another process may have been faster
                    raise
    return folder


def _make(compiler: str, folder: Path) -> None:
    folder.mkdir()
    (folder / "runtime.map").write_text(_VERSIONS, encoding="utf-8")
    for name, (source, needs) in _LIBRARIES.items():
        options = ["-O1", "-shared", "-fPIC", "-std=c++17", "-w", f"-Wl,-soname,{name}"]
        command = [compiler, *options, "-o", name, str(_HERE / source), "-L.", *needs]
        run_compiler([*command, "-Wl,-rpath,$ORIGIN"], folder, _PROBLEM)
    header = ["-x", "c++-header", "-o", f"{HEADER}.gch", str(_HERE / HEADER)]
    run_compiler([compiler, *CODE_OPTIONS, *header], folder, _PROBLEM)
    nvcc = folder / "nvcc"
    nvcc.write_text(f'#!/bin/sh\nexec {sys.executable} -m {__name__}.nvcc "$@"\n', encoding="utf-8")
    nvcc.chmod(0o755)


def environment(
    *,
    gpus: int = 1,
    arch: int = 90,
    memory: int | None = None,
    driver: int | None = None,
    busy: int | None = None,
    gone: Path | None = None,
) -> dict[str, str]:
    """The environment of a process that is to see so many emulated GPUs, and no other.

    ``arch`` is their compute capability, ``memory`` what each has in bytes, ``driver`` the newest
    CUDA that the driver knows (13000 for 13.0), ``busy`` the index of one that others have for
    themselves; as long as the file ``gone`` exists, none is there. Raises like ``libraries``.
    """
    settings = {
        "GPUS": gpus,
        "ARCH": arch,
        "MEMORY": memory,
        "DRIVER": driver,
        "BUSY": busy,
        "GONE": gone,
    }
    given = {
        f"TUNESMITH_EMULATED_{name}": str(value)
        for name, value in settings.items()
        if value is not None
    }
    for name in ("PATH", "LD_LIBRARY_PATH"):
        given[name] = os.pathsep.join(filter(None, [str(libraries()), os.environ.get(name)]))
    return {**os.environ, **given}
