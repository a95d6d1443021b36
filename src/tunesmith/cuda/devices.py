"""The NVIDIA GPUs of this machine."""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_size_t
from dataclasses import dataclass
from functools import lru_cache

from tunesmith.cuda.driver import Driver, driver, version_text
from tunesmith.cuda.multiprocessors import capability
from tunesmith.errors import TunesmithError, UsageError

# Numbers of the driver API's CUdevice_attribute.
_MULTIPROCESSORS = 16
_L2_BYTES = 38
_MAJOR, _MINOR = 75, 76

_NAME_LENGTH = 256

# The CUDA version of TVM's runtime in the format of cuDriverGetVersion. Measurements do not use it.
KERNELS_NEED = 13000


@dataclass(frozen=True)
class GpuInfo:
    """A GPU's properties. ``index`` counts the GPUs that this process may use.

    ``arch`` is its architecture, such as ``sm_90``; ``bus`` is its PCI bus ID. ``newest_cuda`` is
    the driver's CUDA version: 13000 for 13.0.
    """

    index: int
    name: str
    arch: str
    memory_bytes: int
    multiprocessors: int
    l2_bytes: int
    bus: str
    newest_cuda: int

    @classmethod
    def of(cls, cuda: Driver, index: int) -> GpuInfo:
        """The GPU with this index. Raises ``CudaError`` if there is none."""
        device = cuda.number("cuDeviceGet", c_int, index)

        def attribute(which: int) -> int:
            return int(cuda.number("cuDeviceGetAttribute", c_int, which, device))

        def text(function: str) -> str:
            buffer = ctypes.create_string_buffer(_NAME_LENGTH)
            cuda.call(function, buffer, _NAME_LENGTH, device)
            return buffer.value.decode()

        return cls(
            index=index,
            name=text("cuDeviceGetName"),
            arch=f"sm_{attribute(_MAJOR)}{attribute(_MINOR)}",
            memory_bytes=int(cuda.number("cuDeviceTotalMem_v2", c_size_t, device)),
            multiprocessors=attribute(_MULTIPROCESSORS),
            l2_bytes=attribute(_L2_BYTES),
            bus=text("cuDeviceGetPCIBusId"),
            newest_cuda=cuda.version,
        )


@lru_cache(maxsize=1)
def gpus() -> tuple[GpuInfo, ...]:
    """The GPUs that this process may use (see ``CUDA_VISIBLE_DEVICES``), at least one.

    Raises ``UsageError`` if there is none, or no usable driver.
    """
    cuda = driver()
    count = cuda.number("cuDeviceGetCount", c_int)
    if count < 1:
        raise UsageError("no NVIDIA GPU can be used: CUDA_VISIBLE_DEVICES hides them all")
    return tuple(GpuInfo.of(cuda, index) for index in range(count))


def runs(gpu: str, arch: str) -> bool:
    """Whether a GPU runs machine code for an architecture.

    It does if both have the same major version and the GPU's minor version is not older. Code for
    an architecture with a letter needs exactly that version. (CUDA programming guide, "Binary
    Compatibility".)
    """
    own, asked = capability(gpu), capability(arch)
    if arch[-1].isalpha():
        return own == asked
    return own // 10 == asked // 10 and own >= asked


def gpu_for(arch: str) -> GpuInfo:
    """The first GPU that runs a kernel for an architecture.

    Raises ``TunesmithError`` if none does, ``UsageError`` if the driver is older than CUDA's
    runtime, and like ``gpus``.
    """
    found = gpus()
    _check_driver(found[0])
    for gpu in found:
        if runs(gpu.arch, arch):
            return gpu
    raise _foreign(arch, found[0])


def check_gpu(index: int, arch: str) -> None:
    """Raises like ``gpu_for`` unless the GPU with this index runs a kernel for an architecture."""
    gpu = gpus()[index]
    _check_driver(gpu)
    if not runs(gpu.arch, arch):
        raise _foreign(arch, gpu)


def _check_driver(gpu: GpuInfo) -> None:
    if gpu.newest_cuda < KERNELS_NEED:
        raise UsageError(
            f"kernels for GPUs need a driver for CUDA {version_text(KERNELS_NEED)}, and this one "
            f"is for {version_text(gpu.newest_cuda)}: update it"
        )


def _foreign(arch: str, gpu: GpuInfo) -> TunesmithError:
    return TunesmithError(
        f"the kernel was compiled for {arch}, which GPU {gpu.index} ({gpu.name}, {gpu.arch}) does "
        f"not run: build it for {gpu.arch}"
    )
