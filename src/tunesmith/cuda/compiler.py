"""Compiles CUDA C++ with nvcc, and reports the GPU resources that the code uses."""

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

# ptxas's report of a function, in this order.
_FUNCTION = re.compile(r"Compiling entry function '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")

# nvcc's version, in the output of ``nvcc --version``.
_RELEASE = re.compile(r"release (\d+)\.(\d+)")

# nvcc's options for every architecture.
_OPTIONS = ("-cubin", "-O3", "-Xptxas", "-v", "-std=c++17")

# Architectures to compile for with their architecture-specific features (``wgmma`` of sm_90). Such
# code does not run on later members of the generation, but sm_90 has none (``devices.runs``).
_WITH_FEATURES = {"sm_90": "sm_90a"}


@dataclass(frozen=True)
class Resources:
    """A function's registers per thread, bytes that a thread spills to memory and reloads, and
    bytes of static shared memory per block."""

    registers: int
    spill_stores: int
    spill_loads: int
    shared_bytes: int

    def occupancy(self, threads: int, arch: str) -> float | None:
        """The share of a multiprocessor's thread slots in use, with ``threads`` per block.

        None for an architecture that is not in our table.
        """
        known = multiprocessor(arch)
        if known is None:
            return None
        blocks = known.blocks_at_a_time(threads, self.registers, self.shared_bytes)
        return min(1.0, blocks * threads / known.threads)


@dataclass(frozen=True)
class Cubin:
    """Machine code, its source, and the resources of its functions by name."""

    code: bytes
    source: str
    resources: dict[str, Resources]


def summary(cubin: Cubin, functions: Mapping[str, Function], arch: str) -> dict[str, Any]:
    """A program's resources as JSON; for each the most demanding launch counts.

    ``registers`` and ``spilled_bytes`` are per thread, ``shared_bytes`` and ``threads`` per block;
    ``occupancy`` is as in ``Resources``. ``functions`` are those of ``CudaCode``. Raises
    ``TunesmithError`` if nvcc did not report on one of them.
    """
    launches = [launch for function in functions.values() for launch in function.launches]
    unknown = {launch.kernel for launch in launches} - cubin.resources.keys()
    if unknown:
        names = ", ".join(sorted(unknown))
        raise TunesmithError(f"nvcc does not report the resources of {names}: update Tunesmith")
    used = []
    for launch in launches:
        static = cubin.resources[launch.kernel]
        used.append(replace(static, shared_bytes=static.shared_bytes + launch.shared_bytes))
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
    """Whether nvcc is installed."""
    return _nvcc() is not None


def _nvcc() -> str | None:
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def nvcc() -> str:
    """The path of nvcc. Raises ``MissingDependencyError`` if there is none."""
    found = _nvcc()
    if found is None:
        raise MissingDependencyError(
            "CUDA code needs nvcc to be compiled: install the CUDA toolkit, or add its folder bin "
            "to PATH"
        )
    return found


def compiler_text() -> str:
    """The line by which nvcc identifies its build.

    Raises like ``nvcc``, and ``TunesmithError`` if it does not run.
    """
    return _version_output(nvcc()).splitlines()[-1]


def options_for(arch: str) -> tuple[str, ...]:
    """nvcc's options to compile for an architecture such as ``sm_90``."""
    return (*_OPTIONS, f"-arch={_WITH_FEATURES.get(arch, arch)}")


def nvcc_version() -> int:
    """nvcc's CUDA version in the driver's format: 13000 for 13.0.

    Raises like ``compiler_text``.
    """
    found = _RELEASE.search(_version_output(nvcc()))
    if found is None:
        raise TunesmithError(f"{nvcc()} does not print its version: reinstall the CUDA toolkit")
    return 1000 * int(found[1]) + 10 * int(found[2])


@lru_cache(maxsize=4)
def _version_output(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise TunesmithError(f"nvcc does not run: {error}") from error
    return done.stdout.strip()


def compile_cuda(source: str, arch: str) -> Cubin:
    """Compile CUDA C++ for an architecture such as ``sm_90``, with its specific features.

    Raises ``MissingDependencyError`` without nvcc, and ``TunesmithError`` with the compiler's first
    error if it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, output = Path(folder, "kernel.cu"), Path(folder, "kernel.cubin")
        path.write_text(source, encoding="utf-8")
        command = [nvcc(), *options_for(arch), "-o", str(output), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = _first_error(done.stderr).replace(f"{path}", path.name)
            raise TunesmithError(f"nvcc failed: {reason}")
        return Cubin(output.read_bytes(), source, resources_of(done.stderr))


def resources_of(report: str) -> dict[str, Resources]:
    """The resources of each function, from ptxas's output with ``-v``."""
    found = {}
    _, *parts = _FUNCTION.split(report)
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        spills, registers, shared = (p.search(part) for p in (_SPILLS, _REGISTERS, _SHARED))
        if registers is None:
            continue
        found[name] = Resources(
            registers=int(registers[1]),
            spill_stores=int(spills[2]) if spills else 0,
            spill_loads=int(spills[3]) if spills else 0,
            shared_bytes=int(shared[1]) if shared else 0,
        )
    return found


def _first_error(report: str) -> str:
    lines = [line.strip() for line in report.splitlines() if "error" in line or "fatal" in line]
    return (lines or report.strip().splitlines() or ["it printed nothing"])[0]
