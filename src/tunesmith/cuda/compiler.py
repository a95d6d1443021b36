"""From CUDA C++ to the machine code of an NVIDIA GPU, and what that takes of the GPU."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from tunesmith.cuda.lowering import Function
from tunesmith.cuda.multiprocessors import multiprocessor
from tunesmith.errors import MissingDependencyError, TunesmithError

# What ptxas says of each function, in this order.
_FUNCTION = re.compile(r"Compiling entry function '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")

# Where nvcc says its version.
_RELEASE = re.compile(r"release (\d+)\.(\d+)")

# What nvcc is told for every instruction set.
_OPTIONS = ("-cubin", "-O3", "-Xptxas", "-v", "-std=c++17")

# What nvcc is told of an instruction set: with what this generation alone has (``wgmma`` of sm_90).
# Machine code for it without that would run on later members of the generation, too, but there are
# none: GPUs of compute capability 9.0 are all that it is ever loaded on (``devices.runs``).
_WITH_FEATURES = {"sm_90": "sm_90a"}


@dataclass(frozen=True)
class Resources:
    """What a function takes: registers of a thread, bytes that a thread spills to memory and loads
    from there, and bytes of shared memory of a block."""

    registers: int
    spill_stores: int
    spill_loads: int
    shared_bytes: int

    def with_shared(self, given: int) -> Resources:
        """The same with so many more bytes of shared memory, which a launch gives."""
        return replace(self, shared_bytes=self.shared_bytes + given)

    def occupancy(self, threads: int, arch: str) -> float | None:
        """The share of a multiprocessor's threads that run at a time, with blocks of so many.

        None for a GPU whose figures are not known here.
        """
        known = multiprocessor(arch)
        if known is None:
            return None
        blocks = known.blocks_at_a_time(threads, self.registers, self.shared_bytes)
        return min(1.0, blocks * threads / known.threads)


@dataclass(frozen=True)
class Cubin:
    """Machine code, its source, and what its functions take, by name."""

    code: bytes
    source: str
    resources: dict[str, Resources]


def summary(cubin: Cubin, functions: Mapping[str, Function], arch: str) -> dict[str, Any]:
    """What a program takes, as JSON: of several launches each time the most demanding one.

    ``registers`` of a thread, ``spilled_bytes`` that a thread writes to memory for want of
    registers, ``shared_bytes`` and ``threads`` of a block, and the ``occupancy``, None for a GPU
    whose figures are not known here. ``functions`` are those of ``CudaCode``.
    """
    launches = [launch for function in functions.values() for launch in function.launches]
    unknown = {launch.kernel for launch in launches} - cubin.resources.keys()
    if unknown:
        raise TunesmithError(f"nvcc says nothing of {', '.join(sorted(unknown))}: update Tunesmith")
    used = [cubin.resources[launch.kernel].with_shared(launch.shared_bytes) for launch in launches]
    threads = [math.prod(launch.block) for launch in launches]
    occupancies = [one.occupancy(count, arch) for one, count in zip(used, threads, strict=True)]
    known = [share for share in occupancies if share is not None]
    return {
        "registers": max(one.registers for one in used),
        "spilled_bytes": max(one.spill_stores for one in used),
        "shared_bytes": max(one.shared_bytes for one in used),
        "threads": max(threads),
        "occupancy": min(known) if known else None,
    }


def has_nvcc() -> bool:
    """Whether CUDA C++ can be compiled here."""
    return _nvcc() is not None


def _nvcc() -> str | None:
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def nvcc() -> str:
    """Where the compiler is. Raises ``MissingDependencyError`` where there is none."""
    found = _nvcc()
    if found is None:
        raise MissingDependencyError(
            "CUDA code needs nvcc to be compiled: install the CUDA toolkit, or add its folder bin "
            "to PATH"
        )
    return found


def compiler_text() -> str:
    """Which nvcc it is, in its own words, in one line.

    Raises like ``nvcc``, and ``TunesmithError`` for one that does not run.
    """
    return _words(nvcc()).splitlines()[-1]


def options_for(arch: str) -> tuple[str, ...]:
    """What nvcc is told to compile for an instruction set."""
    return (*_OPTIONS, f"-arch={_WITH_FEATURES.get(arch, arch)}")


def nvcc_version() -> int:
    """The CUDA that nvcc is of, as the driver says its own: 13000 for 13.0.

    Raises like ``compiler_text``.
    """
    found = _RELEASE.search(_words(nvcc()))
    if found is None:
        raise TunesmithError(f"{nvcc()} does not say its version: install the CUDA toolkit anew")
    return 1000 * int(found[1]) + 10 * int(found[2])


@lru_cache(maxsize=4)
def _words(path: str) -> str:
    """What a compiler says of itself."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise TunesmithError(f"nvcc does not run: {error}") from error
    return done.stdout.strip()


def compile_cuda(source: str, arch: str) -> Cubin:
    """Compile CUDA C++ for an instruction set such as ``sm_90``, with all features that the GPUs
    of its generation have.

    Raises ``MissingDependencyError`` without nvcc, and ``TunesmithError`` with the compiler's first
    complaint where it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, output = Path(folder, "kernel.cu"), Path(folder, "kernel.cubin")
        path.write_text(source, encoding="utf-8")
        command = [nvcc(), *options_for(arch), "-o", str(output), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            complaint = _complaint(done.stderr).replace(f"{path}", path.name)
            raise TunesmithError(f"nvcc failed: {complaint}")
        return Cubin(output.read_bytes(), source, resources_of(done.stderr))


def resources_of(report: str) -> dict[str, Resources]:
    """What ptxas tells of each function with ``-v``."""
    found = {}
    for part in report.split("Compiling entry function")[1:]:
        name = _FUNCTION.match("Compiling entry function" + part)
        spills, registers, shared = (p.search(part) for p in (_SPILLS, _REGISTERS, _SHARED))
        if name is None or registers is None:
            continue
        found[name[1]] = Resources(
            registers=int(registers[1]),
            spill_stores=int(spills[2]) if spills else 0,
            spill_loads=int(spills[3]) if spills else 0,
            shared_bytes=int(shared[1]) if shared else 0,
        )
    return found


def _complaint(report: str) -> str:
    lines = [line.strip() for line in report.splitlines() if "error" in line or "fatal" in line]
    return (lines or report.strip().splitlines() or ["without a word"])[0]
