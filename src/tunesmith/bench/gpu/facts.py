"""What GPU figures were measured on, and with which driver and compiler."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tunesmith.cuda.clocks import Clocks
from tunesmith.cuda.compiler import compiler_text
from tunesmith.cuda.devices import gpus
from tunesmith.cuda.driver import driver, version_text
from tunesmith.errors import TunesmithError

_MODULE = Path("/proc/driver/nvidia/version")
_RELEASE = re.compile(r"\b(\d{3}\.\d+(?:\.\d+)?)\b")
_TOOLKIT = re.compile(r"cuda_(\d+\.\d+)")


def gpu_facts() -> dict[str, Any]:
    """The first GPU: ``name``, ``arch``, ``count`` of those that may be used, ``memory_gib``,
    ``multiprocessors``, ``l2_mib``, ``driver`` (None where it is not told), ``cuda`` of the driver,
    ``nvcc``, and ``clocks`` as ``read_clocks`` has them. Raises ``UsageError`` where there is none.
    """
    found = gpus()
    gpu = found[0]
    return {
        "name": gpu.name,
        "arch": gpu.arch,
        "count": len(found),
        "memory_gib": round(gpu.memory_bytes / 2**30, 1),
        "multiprocessors": gpu.multiprocessors,
        "l2_mib": round(gpu.l2_bytes / 2**20, 1),
        "driver": _release(),
        "cuda": version_text(driver().version),
        "nvcc": _toolkit(),
        "clocks": read_clocks(),
    }


def read_clocks() -> dict[str, int] | None:
    """``sm_mhz``, ``memory_mhz`` and ``celsius`` of the first GPU, as far as they can be read; None
    where nothing can."""
    state = Clocks(gpus()[0].bus).read()
    if state is None:
        return None
    return {name: figure for name, figure in state.to_json().items() if figure is not None}


def _release() -> str | None:
    """The version of the driver's kernel module, such as 580.65.06."""
    try:
        found = _RELEASE.search(_MODULE.read_text(encoding="utf-8"))
    except OSError:
        return None
    return found[1] if found else None


def _toolkit() -> str | None:
    """The version of nvcc, such as 13.0; its own words where they have none."""
    try:
        text = compiler_text()
    except TunesmithError:
        return None
    found = _TOOLKIT.search(text)
    return found[1] if found else text
