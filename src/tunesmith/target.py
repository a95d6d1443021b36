"""Targets: the devices that programs run on."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tunesmith.compiler import llvm, sve
from tunesmith.compiler.cores import usable_cores
from tunesmith.errors import UsageError, unknown_name
from tunesmith.operators import element_bits

KINDS = ("cpu", "cuda")
TRIPLES = ("aarch64-linux-gnu", "x86_64-linux-gnu")
"""The platforms that programs can be built for, by LLVM's names."""

# NVIDIA's names of GPU architectures; a letter adds features of that architecture or family only.
_ARCH = re.compile(r"sm_\d{2,3}[af]?")

# LLVM's names of the instruction sets that compiled kernels use, on x86 and Arm.
_INSTRUCTIONS = re.compile(
    r"s{2,3}e\d|avx|amx|fma|f16c|bmi|popcnt$|lzcnt$|neon|sve|sme|dotprod|i8mm|bf16|fullfp16"
)


@dataclass(frozen=True)
class Target:
    """A device and how to compile for it.

    ``mcpu`` is LLVM's name of a processor; None means this machine's. ``cores`` is the number of
    threads that a kernel may use; None means all cores available to this process. ``arch`` is the
    architecture of an NVIDIA GPU, such as ``sm_90``; None means that of this machine's GPU.
    ``triple`` is LLVM's name of another machine's platform, such as ``aarch64-linux-gnu``; None
    means this machine's.

    Raises ``UsageError`` for an unknown kind, fewer than one core, an ``arch`` that is invalid or
    for a CPU, a ``triple`` that is not supported or for a GPU, and values of the wrong type.
    """

    kind: str = "cpu"
    mcpu: str | None = None
    cores: int | None = None
    arch: str | None = None
    triple: str | None = None

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
        if self.triple is not None and self.kind != "cpu":
            raise UsageError(f"triple is for CPUs, and the target is {self.kind}: leave it out")
        if self.triple is not None and self.triple not in TRIPLES:
            raise unknown_name("platform", str(self.triple), TRIPLES)

    @classmethod
    def of(cls, target: str | Target) -> Target:
        """A target from its kind, or the target itself."""
        return target if isinstance(target, Target) else cls(target)

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> Target:
        """The target of a record: the inverse of ``to_json``, with all options set, for a GPU only
        ``arch``.

        Raises ``UsageError`` for one that is of no kind known here.
        """
        if described.get("kind") == "cuda":
            return cls("cuda", arch=described.get("arch"))
        if described.get("kind") == "llvm":
            mcpu, cores = described.get("mcpu"), described.get("num-cores")
            return cls("cpu", mcpu=mcpu, cores=cores, triple=described.get("mtriple"))
        raise UsageError(f"target {described.get('kind')} is not known here")

    @cached_property
    def key(self) -> str:
        """Stable text of the options that are set; records store the machine separately."""
        options = [f"mcpu={self.mcpu}"] if self.mcpu else []
        options += [f"cores={self.cores}"] if self.cores else []
        options += [f"arch={self.arch}"] if self.arch else []
        options += [f"triple={self.triple}"] if self.triple else []
        return self.kind + (f"({','.join(options)})" if options else "")

    @property
    def core_count(self) -> int:
        """The number of threads that a kernel uses."""
        return self.cores or usable_cores()

    @property
    def processor(self) -> str:
        """LLVM's name of the processor to compile for.

        Raises ``UsageError`` for one that LLVM does not know, and for 32-bit processors.
        """
        if self.mcpu is None:
            return llvm.host_processor() if self.triple is None else llvm.GENERIC
        if self.mcpu not in llvm.processors(self.triple):
            raise unknown_name("processor", self.mcpu, llvm.processors(self.triple))
        if not llvm.runs_64_bit_code(self.mcpu, self.triple):
            raise UsageError(f"processor {self.mcpu} runs no 64-bit code: name a newer one")
        return self.mcpu

    @cached_property
    def instructions(self) -> frozenset[str]:
        """The instruction sets to compile for. Raises ``UsageError`` like ``processor``."""
        return instructions(self.processor, self.triple)

    def lanes(self, dtype: str) -> int:
        """The number of elements of a type in a CPU's vector register.

        Raises ``UsageError`` like ``processor``.
        """
        known = self.instructions
        register = 64 if "avx512f" in known else 32 if "avx" in known else sve.vector_bytes(known)
        return register * 8 // element_bits(dtype)

    def to_tvm(self) -> Any:
        """The ``tvm.target.Target`` (imports TVM).

        Raises ``UsageError`` like ``processor`` and ``gpu_arch``.
        """
        import tvm

        return tvm.target.Target(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """TVM's target as a dict, with all defaults resolved.

        Raises ``UsageError`` like ``processor`` and ``gpu_arch``.
        """
        if self.kind == "cuda":
            return {"kind": "cuda", "arch": self.gpu_arch, "host": self._host}
        return self._host

    @property
    def architecture(self) -> str:
        """The CPU's architecture as ``uname -m`` tells it, such as ``aarch64``."""
        return platform.machine() if self.triple is None else self.triple.partition("-")[0]

    @property
    def gpu_arch(self) -> str:
        """The GPU architecture to compile for, such as ``sm_90``.

        Raises ``UsageError`` if ``arch`` is None and this machine has no GPU.
        """
        return self.arch or host_gpu_arch()

    def resolved(self) -> Target:
        """The same target, for a GPU with ``arch`` set. Raises ``UsageError`` like ``gpu_arch``."""
        return replace(self, arch=self.gpu_arch) if self.kind == "cuda" else self

    def check_measurable(self, instead: str = "--build-only") -> None:
        """Raises ``UsageError`` if this machine can only build programs for this target; it names
        what can be done ``instead``."""
        if self.kind != "cuda":
            if self.triple is not None and self.architecture != platform.machine():
                raise UsageError(
                    f"this machine runs no code for {self.triple}: measure on a device (--rpc and "
                    f"--device-key), or take {instead}"
                )
            return
        from tunesmith.cuda.compiler import has_nvcc, nvcc_version
        from tunesmith.cuda.devices import gpus, runs
        from tunesmith.cuda.driver import version_text

        try:
            gpu = gpus()[0]
        except UsageError as error:
            raise UsageError(f"{error}; {instead} needs no GPU") from error
        if self.arch is not None and not runs(gpu.arch, self.arch):
            raise UsageError(
                f"this machine's GPU ({gpu.name}) does not run code for {self.arch}: leave out "
                f"--arch, which then is {gpu.arch}; or take {instead}"
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
        """TVM's target for the CPU."""
        return {
            "kind": "llvm",
            **({"mtriple": self.triple} if self.triple else {}),
            "mcpu": self.processor,
            "num-cores": self.core_count,
            # The config decides about vectorisation and unrolling. LLVM's SLP vectoriser and its
            # unrolling at level 3 improve no good program, but took up to 7 s of a build (gathered
            # elements) and 3 s (short loops).
            "opt-level": 2,
            "cl-opt": ["-vectorize-slp:bool=false", *sve.options(self.instructions)],
        }


def host_gpu_arch() -> str:
    """The architecture of this machine's first NVIDIA GPU, such as ``sm_90``.

    Raises ``UsageError`` if no GPU can be used.
    """
    from tunesmith.cuda.devices import gpus

    try:
        return gpus()[0].arch
    except UsageError as error:
        raise UsageError(f"{error}; or name one to build for, such as --arch sm_90") from error


def instructions(processor: str, triple: str | None = None) -> frozenset[str]:
    """The instruction sets that a kernel compiled for a processor may use.

    These are a subset of LLVM's features, as others are tuning flags or irrelevant to kernels; and
    ``sve256`` and ``sve512`` where SVE's vectors are so long.
    """
    here = triple is None and processor == llvm.host_processor()
    return _with_lengths(llvm.features(processor, triple), processor, here=here)


def host_instructions() -> frozenset[str]:
    """The instruction sets that this machine has: of those of its processor, what is not hidden."""
    return _with_lengths(llvm.host_features(), llvm.named_processor(), here=True)


def _with_lengths(features: frozenset[str], processor: str, *, here: bool) -> frozenset[str]:
    known = frozenset(filter(_INSTRUCTIONS.match, features))
    return known | sve.length_features(processor, here=here) if "sve" in known else known
