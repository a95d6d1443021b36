"""Hide vector instructions from this process, so that a library without a switch does without.

Libraries ask the processor what it has, by CPUID. Linux can have that instruction fault, on
processors that support it, and a handler then answers as a processor without them would
(``hidden_instructions.c``). To the library the machine is such a processor.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from tunesmith.errors import TunesmithError

_SOURCE = Path(__file__).with_suffix(".c")

_EAX, _EBX, _ECX, _EDX = range(4)

# By generation what it brought, as (leaf, subleaf, register, bits); Intel, "Architecture
# Instruction Set Extensions Programming Reference", chapter 1, and the manual of CPUID.
_BROUGHT = {
    "AVX-512": (
        # F, DQ, IFMA, PF, ER, CD, BW, VL; VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ
        (7, 0, _EBX, sum(1 << bit for bit in (16, 17, 21, 26, 27, 28, 30, 31))),
        (7, 0, _ECX, sum(1 << bit for bit in (1, 6, 11, 12, 14))),
        # 4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, FP16, AMX-TILE, AMX-INT8
        (7, 0, _EDX, sum(1 << bit for bit in (2, 3, 8, 22, 23, 24, 25))),
        (7, 1, _EAX, sum(1 << bit for bit in (5, 21))),  # BF16, AMX-FP16
        (7, 1, _EDX, 1 << 19),  # AVX10
    ),
    "AVX2": (
        (7, 0, _EBX, 1 << 5),
        (1, 0, _ECX, 1 << 12),  # FMA
        (7, 1, _EAX, sum(1 << bit for bit in (4, 23))),  # AVX-VNNI, AVX-IFMA
    ),
    "AVX": ((1, 0, _ECX, sum(1 << bit for bit in (28, 29))),),  # and F16C
    "SSE4.1": (),
}


class _Hidden(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint) for name in ("leaf", "subleaf", "place", "bits"))


def hide_beyond(generation: str) -> Callable[[], int]:
    """Have all that this thread loads and starts from now on find no more than a generation.

    ``generation`` is the name of an instruction set. Returns a function that tells how often
    something hidden was asked for. Raises ``TunesmithError`` where that cannot be done.
    """
    library = _library()
    newer = list(_BROUGHT)[: list(_BROUGHT).index(generation)]
    hidden = [_Hidden(*bits) for name in newer for bits in _BROUGHT[name]]
    if library.hide((_Hidden * len(hidden))(*hidden), len(hidden)):
        raise TunesmithError("the processor or the kernel cannot hide instructions")
    times: Callable[[], int] = library.times_hidden
    return times


@lru_cache(maxsize=1)
def why_nothing_can_be_hidden() -> str | None:
    """Why instructions cannot be hidden on this machine; None where they can."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "this system hides no instructions"
    if "cpuid_fault" not in flags:
        return "this processor hides no instructions"
    if _compiler() is None:
        return "hiding instructions needs a C compiler"
    return None


def _library() -> ctypes.CDLL:
    """The handler, compiled anew: that takes less than a tenth of a second."""
    compiler = _compiler()
    if compiler is None:
        raise TunesmithError("hiding instructions needs a C compiler")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "hidden_instructions.so")
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(made), str(_SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TunesmithError(f"{_SOURCE.name} does not compile: {done.stderr.strip()[:500]}")
        return ctypes.CDLL(str(made))


def _compiler() -> str | None:
    return shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
