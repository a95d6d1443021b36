"""Stands in for ``nvcc``: what it makes, only the emulated driver can load.

It takes the options that Tunesmith gives the real one: ``-cubin -arch=ARCH -o OUTPUT SOURCE`` and
others, which do not matter here.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
import tempfile
from pathlib import Path

from tunesmith.errors import TunesmithError
from tunesmith.testing.emulated_gpu import CODE_OPTIONS, cpp_compiler, libraries, run_compiler
from tunesmith.testing.emulated_gpu.translate import kernels_of, to_cpp
from tunesmith.whole_file import write_whole

_HEADERS = Path(__file__).parent

# What the source includes, and needs nothing of here.
_EMPTY = ("cuda.h", "cuda_fp16.h", "cuda_bf16.h")

_SHARED = re.compile(r"__shared__ (?:alignas\(\d+\) )?([\w ]+?) \w+((?:\[\d+\])+);")
_BYTES = {"double": 8, "int64_t": 8, "half": 2, "signed char": 1, "char": 1, "uchar": 1}

# The most shared memory that ptxas lets a function declare.
_MOST_SHARED = 48 * 1024

# The one instruction set that has the instructions of warpgroups.
_WARPGROUPS = "sm_90a"


def compile_emulated(source: str, arch: str) -> bytes:
    """The code of CUDA C++ for the emulated driver, and for none else.

    What was compiled before is taken from the folder that ``TUNESMITH_EMULATED_KEPT`` names, where
    it is set. Raises ``MissingDependencyError`` without a C++ compiler and ``TunesmithError`` with
    its words for code that it does not take.
    """
    compiler = cpp_compiler()
    code = to_cpp(source)
    kept = _kept(code)
    if kept and kept.is_file():
        library = kept.read_bytes()
    else:
        library = _compile(compiler, code)
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_whole(kept, library)
    number = re.sub(r"\D", "", arch)
    return f"TUNESMITH EMULATED {number} {len(library)}\n".encode() + library


def _compile(compiler: str, code: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        for name in _EMPTY:
            (path / name).write_text("", encoding="utf-8")
        (path / "kernel.cpp").write_text(code, encoding="utf-8")
        # First where the header lies compiled.
        options = [*CODE_OPTIONS, f"-I{folder}", f"-I{libraries()}", f"-I{_HEADERS}"]
        command = [compiler, *options, "-o", "kernel.so", "kernel.cpp"]
        run_compiler(command, path, "the CUDA code is no C++")
        return (path / "kernel.so").read_bytes()


def _kept(code: str) -> Path | None:
    """Where the library of this code is kept, or will be; None if none is to be kept."""
    folder = os.environ.get("TUNESMITH_EMULATED_KEPT")
    if not folder:
        return None
    # The name of the libraries' folder is a hash of the headers.
    text = f"{libraries().name}\n{code}"
    return Path(folder, hashlib.sha256(text.encode()).hexdigest()[:32]).with_suffix(".so")


def shared_bytes(source: str) -> int:
    """The bytes of shared memory that CUDA C++ declares."""
    return sum(
        math.prod(map(int, re.findall(r"\d+", extents))) * _BYTES.get(kind, 4)
        for kind, extents in _SHARED.findall(source)
    )


def main(arguments: list[str]) -> int:
    """Compile as the options say. Returns the exit status."""
    if arguments == ["--version"]:
        print("Emulated nvcc, release 13.0")
        return 0
    output = Path(arguments[arguments.index("-o") + 1])
    arch = next(one.partition("=")[2] for one in arguments if one.startswith("-arch="))
    source = Path(arguments[-1]).read_text(encoding="utf-8")
    shared = shared_bytes(source)
    if shared > _MOST_SHARED:
        print(f"ptxas error   : too much shared data ({shared:#x} bytes)", file=sys.stderr)
        return 1
    if "wgmma." in source and arch != _WARPGROUPS:
        print(f"ptxas error   : 'wgmma' not supported on .target '{arch}'", file=sys.stderr)
        return 1
    try:
        output.write_bytes(compile_emulated(source, arch))
    except TunesmithError as error:
        print(f"{Path(arguments[-1]).name}: error: {error}", file=sys.stderr)
        return 1
    for kernel in kernels_of(source):
        print(
            f"ptxas info    : Compiling entry function '{kernel}' for '{arch}'\n"
            "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
            f"ptxas info    : Used 32 registers, used 1 barriers, {shared} bytes smem",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
