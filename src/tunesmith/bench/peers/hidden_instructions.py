"""Hide vector instructions from this process, so that a library without a switch does without.

Libraries ask the processor what it has, by CPUID. Linux can have that instruction fault, on
processors that support it, and a handler then answers as a processor without them would
(``hidden_instructions.c``). To the library the machine is such a processor.

``python -m tunesmith.bench.peers.hidden_instructions`` succeeds where that works.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from tunesmith.errors import TunesmithError

_SOURCE = Path(__file__).with_suffix(".c")

_EAX, _EBX, _ECX, _EDX = range(4)
_ANY = 0xFFFFFFFF  # subleaf, of leaves that have none

# A trial of it takes a tenth of a second.
_PATIENCE = 60.0


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


# What a processor of a generation may have, and one of the generation before does not, as (leaf,
# subleaf, register, bits); Intel, "Architecture Instruction Set Extensions Programming Reference",
# chapter 1, and the manual of CPUID. The greatest generation first.
_BROUGHT = {
    "AVX-512": (
        # F, DQ, IFMA, PF, ER, CD, BW, VL
        (7, 0, _EBX, _bits((16, 17, 21, 26, 27, 28, 30, 31))),
        # VBMI, VBMI2, VAES, VPCLMULQDQ, VNNI, BITALG, VPOPCNTDQ
        (7, 0, _ECX, _bits((1, 6, 9, 10, 11, 12, 14))),
        # 4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, FP16, AMX-TILE, AMX-INT8
        (7, 0, _EDX, _bits((2, 3, 8, 22, 23, 24, 25))),
        # SHA512, SM3, SM4, AVX-VNNI, BF16, AMX-FP16, AVX-IFMA: some for vectors of 256 bits, but
        # younger than AVX-512
        (7, 1, _EAX, _bits((0, 1, 2, 4, 5, 21, 23))),
        # AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX-VNNI-INT16, AVX10
        (7, 1, _EDX, _bits((4, 5, 8, 10, 19))),
    ),
    "AVX2": (
        (7, 0, _EBX, _bits((5,))),
        (1, _ANY, _ECX, _bits((12,))),  # FMA
    ),
    "AVX": ((1, _ANY, _ECX, _bits((28, 29))),),  # and F16C
    "SSE4.1": (),
}


class _Hidden(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint) for name in ("leaf", "subleaf", "place", "bits"))


def hide_beyond(generation: str) -> Callable[[], int]:
    """Have what this thread loads, and the threads that it starts, find no more than a generation.

    Programs that it starts find everything. ``generation`` is the name of an instruction set; it is
    named once in a process. Returns a function that tells how many answers lacked something that
    the processor has. Raises ``TunesmithError`` where nothing can be hidden.
    """
    library = _library()
    newer = list(_BROUGHT)[: list(_BROUGHT).index(generation)]
    hidden = [_Hidden(*bits) for name in newer for bits in _BROUGHT[name]]
    if library.hide((_Hidden * len(hidden))(*hidden), len(hidden)):
        raise TunesmithError("this processor or its kernel hides no instructions")
    times: Callable[[], int] = library.times_hidden
    return times


@lru_cache(maxsize=1)
def why_nothing_can_be_hidden() -> str | None:
    """Why instructions cannot be hidden on this machine, in a few words; None where they can.

    A process tries it.
    """
    if _compiler() is None:
        return "hiding instructions needs a C compiler"
    try:
        tried = subprocess.run(
            [sys.executable, "-m", __name__], capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "no process could try to hide instructions"
    return None if tried.returncode == 0 else "this processor or its kernel hides no instructions"


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


if __name__ == "__main__":
    hide_beyond("AVX2")
