"""What a program runs on."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tunesmith.compiler import llvm
from tunesmith.errors import UsageError, unknown_name
from tunesmith.operators import element_bits

KINDS = ("cpu", "cuda")

# NVIDIA's names of its GPUs' instruction sets; a letter stands for some of one generation alone.
_ARCH = re.compile(r"sm_\d{2,3}[af]?")

# LLVM's names of the instruction sets that compiled kernels use, on x86 and Arm.
_INSTRUCTIONS = re.compile(
    r"s{2,3}e\d|avx|amx|fma|f16c|bmi|popcnt$|lzcnt$|neon|sve|sme|dotprod|i8mm|bf16|fullfp16"
)


@dataclass(frozen=True)
class Target:
    """A device and how to compile for it.

    ``mcpu`` is an LLVM processor name; None means the processor of this machine. ``cores`` is how
    many threads a kernel may use; None means all that this process may run on. ``arch`` is the
    instruction set of an NVIDIA GPU, such as ``sm_90``; None means that of this machine's.

    Raises ``UsageError`` for an unknown kind, fewer than one core, an ``arch`` of a CPU or one that
    is none, and values of other types.
    """

    kind: str = "cpu"
    mcpu: str | None = None
    cores: int | None = None
    arch: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("target", str(self.kind), KINDS)
        if self.mcpu is not None and not isinstance(self.mcpu, str):
            raise UsageError(f"mcpu must be LLVM's name of a processor, not {self.mcpu!r}")
        if self.cores is not None and (not isinstance(self.cores, int) or self.cores < 1):
            raise UsageError(f"a target needs at least one core, not {self.cores!r}")
        if self.arch is not None and self.kind != "cuda":
            raise UsageError(f"arch is for GPUs, and the target is {self.kind}: leave it out")
        if self.arch is not None and not _ARCH.fullmatch(str(self.arch)):
            raise UsageError(f"arch must be a name such as sm_90, not {self.arch!r}")

    @classmethod
    def of(cls, target: str | Target) -> Target:
        """A target from its kind, or the target itself."""
        return target if isinstance(target, Target) else cls(target)

    @cached_property
    def key(self) -> str:
        """Stable text; leaves out what is the machine's own, which each record names apart."""
        options = [f"mcpu={self.mcpu}"] if self.mcpu else []
        options += [f"cores={self.cores}"] if self.cores else []
        options += [f"arch={self.arch}"] if self.arch else []
        return self.kind + (f"({','.join(options)})" if options else "")

    @property
    def core_count(self) -> int:
        """How many threads a kernel uses."""
        return self.cores or len(os.sched_getaffinity(0))

    @property
    def processor(self) -> str:
        """LLVM's name of the processor to compile for.

        Raises ``UsageError`` for one that LLVM does not know, or that has 32 bits.
        """
        if self.mcpu is not None and self.mcpu not in llvm.processors():
            raise unknown_name("processor", self.mcpu, llvm.processors())
        if self.mcpu is not None and not _runs_64_bit_code(self.mcpu):
            raise UsageError(f"processor {self.mcpu} runs no 64-bit code: name a newer one")
        return self.mcpu or llvm.host_processor()

    @cached_property
    def instructions(self) -> frozenset[str]:
        """The instruction sets to compile for. Raises ``UsageError`` like that."""
        return instructions(self.processor)

    def lanes(self, dtype: str) -> int:
        """How many elements of a type a vector register holds."""
        known = self.instructions
        register = 64 if "avx512f" in known else 32 if "avx" in known else 16
        return register * 8 // element_bits(dtype)

    def to_tvm(self) -> Any:
        """The ``tvm.target.Target`` (imports TVM). Raises ``UsageError`` like ``processor``."""
        import tvm

        return tvm.target.Target(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """TVM's target as a dict, with nothing left to guess.

        Raises ``UsageError`` like ``processor`` and ``gpu_arch``.
        """
        if self.kind == "cuda":
            return {"kind": "cuda", "arch": self.gpu_arch, "host": self._host}
        return self._host

    @property
    def gpu_arch(self) -> str:
        """The GPU's instruction set to compile for, such as ``sm_90``.

        Raises ``UsageError`` where none is named and this machine has no GPU.
        """
        return self.arch or host_gpu_arch()

    def resolved(self) -> Target:
        """The same with the instruction set of this machine's GPU, where none is named.

        Raises ``UsageError`` like ``gpu_arch``.
        """
        return replace(self, arch=self.gpu_arch) if self.kind == "cuda" else self

    def check_measurable(self) -> None:
        """Raises ``UsageError`` for a target whose programs this machine can only build."""
        if self.kind != "cuda":
            return
        from tunesmith.cuda.compiler import has_nvcc, nvcc_version
        from tunesmith.cuda.devices import gpus, runs
        from tunesmith.cuda.driver import version_text

        try:
            gpu = gpus()[0]
        except UsageError as error:
            raise UsageError(f"{error}; --build-only needs no GPU") from error
        if self.arch is not None and not runs(gpu.arch, self.arch):
            raise UsageError(
                f"this machine's GPU ({gpu.name}) does not run code for {self.arch}: leave out "
                f"--arch, which then is {gpu.arch}; or take --build-only"
            )
        if not has_nvcc():
            raise UsageError(
                "measuring on a GPU needs nvcc: install the CUDA toolkit, or add its folder bin to "
                "PATH"
            )
        compiler, newest = nvcc_version(), gpu.newest_cuda
        if compiler // 1000 > newest // 1000:
            raise UsageError(
                f"nvcc is of CUDA {version_text(compiler)}, and the driver for "
                f"{version_text(newest)}: update the driver, or take an older nvcc"
            )

    @property
    def _host(self) -> dict[str, Any]:
        """TVM's target of the processor."""
        return {
            "kind": "llvm",
            "mcpu": self.processor,
            "num-cores": self.core_count,
            # A config says what is vectorised and unrolled. LLVM's searches for more of both make
            # no good program better, but took up to 7 s of a build where elements are gathered
            # (vectors in straight code) and 3 s where loops are short (unrolling, level 3).
            "opt-level": 2,
            "cl-opt": ["-vectorize-slp:bool=false"],
        }


def host_gpu_arch() -> str:
    """The instruction set of this machine's first NVIDIA GPU, such as ``sm_90``.

    Raises ``UsageError`` where no GPU can be used.
    """
    from tunesmith.cuda.devices import gpus

    try:
        return gpus()[0].arch
    except UsageError as error:
        raise UsageError(f"{error}; or name one to build for, such as --arch sm_90") from error


def instructions(processor: str) -> frozenset[str]:
    """The instruction sets that a kernel compiled for a processor may use.

    These are some of LLVM's features of it; others say what is fast, or mean nothing to kernels.
    """
    return frozenset(name for name in llvm.features(processor) if _INSTRUCTIONS.match(name))


def _runs_64_bit_code(processor: str) -> bool:
    """Whether LLVM can compile for it; for others it would take the whole process down."""
    features = llvm.features(processor)
    return "64bit" in features or "64bit-mode" not in features  # which are names of x86
