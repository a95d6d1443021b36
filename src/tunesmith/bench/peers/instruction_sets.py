"""What holds other libraries to the instruction set that ours is compiled for: their own switches.

On a machine with AVX-512 this compares programs for AVX2 with AVX2 code of other libraries. Each
library reads its switch once, when it is loaded: so they are part of a process's environment. For
a library without a switch see ``hidden_instructions``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tunesmith.errors import UsageError
from tunesmith.target import Target


@dataclass(frozen=True)
class InstructionSet:
    """A generation of x86's vector instructions, and what each library calls it.

    ``features`` are LLVM's names of what a processor of it has at least. ``suffix`` ends the names
    of files with figures for it.
    """

    name: str
    features: frozenset[str]
    suffix: str
    onednn: str
    aten: str
    mkl: str
    openblas: str
    gcc: str


_AVX512 = frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq"})
_AVX2, _AVX, _SSE4 = frozenset({"avx2", "fma"}), frozenset({"avx"}), frozenset({"sse4.1"})

# The greatest first.
_KNOWN = (
    InstructionSet(
        "AVX-512", _AVX512, "", "AVX512_CORE", "avx512", "AVX512", "SkylakeX", "x86-64-v4"
    ),
    InstructionSet("AVX2", _AVX2, "-avx2", "AVX2", "avx2", "AVX2", "Haswell", "x86-64-v3"),
    InstructionSet("AVX", _AVX, "-avx", "AVX", "default", "AVX", "Sandybridge", "sandybridge"),
    InstructionSet("SSE4.1", _SSE4, "-sse4", "SSE41", "default", "SSE4_2", "Nehalem", "x86-64-v2"),
)


def instruction_set(target: Target) -> InstructionSet | None:
    """What programs for a processor may use (imports TVM); None where it is no x86.

    Raises ``UsageError`` for an unknown processor, and for one without SSE4.1, to which no library
    can be held.
    """
    features = target.instructions
    for known in _KNOWN:
        if known.features <= features:
            return known
    if any(name.startswith("sse") for name in features):
        raise UsageError(
            f"processor {target.processor} has no SSE4.1, and no library can be held to less: "
            "name a newer one with --mcpu"
        )
    return None


def held_to(target: Target) -> InstructionSet | None:
    """What other libraries have to be held to beside programs for a processor (imports TVM); None
    where this machine itself has no more than that.

    Raises ``UsageError`` like that, and for a processor with more than this machine has.
    """
    wanted, here = instruction_set(target), instruction_set(Target())
    if wanted is None or here is None or wanted == here:
        return None
    if _KNOWN.index(wanted) < _KNOWN.index(here):
        raise UsageError(
            f"this machine cannot run programs for {target.processor}: it has {here.name} at most, "
            f"not {wanted.name}"
        )
    return wanted


def pytorch_switches(held: InstructionSet) -> dict[str, str]:
    """Of PyTorch's own kernels, and of oneDNN and MKL inside of it.

    MKL heeds its switch on Intel's processors; on others it has nothing above AVX2 anyway.
    """
    return {
        "ATEN_CPU_CAPABILITY": held.aten,
        "ONEDNN_MAX_CPU_ISA": held.onednn,
        "MKL_ENABLE_INSTRUCTIONS": held.mkl,
    }


def compiled_switches(held: InstructionSet) -> dict[str, str]:
    """The same, and what the C++ compiler of TorchInductor may use."""
    return {**pytorch_switches(held), "TORCHINDUCTOR_CPP_MARCH": held.gcc}


def openvino_switches(held: InstructionSet) -> dict[str, str]:
    """Of OpenVINO's own kernels, and of oneDNN inside of it."""
    return {"OV_CPU_MAX_ISA": held.onednn, "ONEDNN_MAX_CPU_ISA": held.onednn}


def numpy_switches(held: InstructionSet) -> dict[str, str]:
    """Of NumPy's own loops, of which it has several versions, and of OpenBLAS inside of it."""
    from numpy._core._multiarray_umath import (  # type: ignore[import-not-found]
        __cpu_dispatch__ as versions,
    )

    beyond = [name for name in versions if _is_beyond(name, held)]
    switches = {"OPENBLAS_CORETYPE": held.openblas}
    return {**switches, "NPY_DISABLE_CPU_FEATURES": ",".join(beyond)} if beyond else switches


def _is_beyond(version: str, held: InstructionSet) -> bool:
    """Whether NumPy's version of its loops needs more than that."""
    if version.startswith("AVX512") or version == "X86_V4":
        return held.name != "AVX-512"
    return version in ("AVX2", "FMA3", "X86_V3") and held.name not in ("AVX-512", "AVX2")
