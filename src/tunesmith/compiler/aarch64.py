"""What an AArch64 processor has, as Linux says: LLVM, which knows processors, is not on a board."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping

from tunesmith.compiler.sve import length_features

# For ``getauxval``: the words of bits that say what the processor has.
_HWCAP, _HWCAP2 = 16, 26
# By LLVM's names of sets of instructions which of these words, and which bits of it. Others are not
# checked: they speed up no program of ours.
_BITS: Mapping[str, tuple[int, int]] = {
    "neon": (_HWCAP, 1 << 1),
    "fullfp16": (_HWCAP, 1 << 9 | 1 << 10),
    "dotprod": (_HWCAP, 1 << 20),
    "sve": (_HWCAP, 1 << 22),
    "sve2": (_HWCAP2, 1 << 1),
    "i8mm": (_HWCAP2, 1 << 13),
    "bf16": (_HWCAP2, 1 << 14),
    "sme": (_HWCAP2, 1 << 23),
    "sme2": (_HWCAP2, 1 << 37),
}
# That SVE's vectors are so long.
_LENGTHS = {"sve256", "sve512"}


def missing_on_aarch64(needed: Iterable[str]) -> set[str]:
    """Those instructions that this machine's processor lacks."""
    ask = ctypes.CDLL(None).getauxval
    ask.restype, ask.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
    names = set(needed)
    known = {name: _BITS[name] for name in names & _BITS.keys()}
    missing = {name for name, (word, bits) in known.items() if ask(word) & bits != bits}
    return missing | ((names & _LENGTHS) - length_features("", here=True))
