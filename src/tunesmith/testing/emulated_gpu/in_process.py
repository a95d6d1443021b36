"""Programs for GPUs called in this process, on the emulated GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.cuda.driver import CudaError, Driver
from tunesmith.cuda.gpu import Gpu
from tunesmith.cuda.gpu_program import GpuProgram
from tunesmith.cuda.lowering import CudaCode, cuda_code
from tunesmith.errors import TunesmithError
from tunesmith.target import Target
from tunesmith.testing.emulated_gpu import libraries
from tunesmith.testing.emulated_gpu.nvcc import compile_emulated

Array = npt.NDArray[Any]

# The emulated GPU has this instruction set, whatever code is made for: only tests that start
# processes need another one.
_ARCH = "sm_90"


@lru_cache(maxsize=1)
def emulated_gpu() -> Gpu:
    """The emulated GPU. Raises ``MissingDependencyError`` without a C++ compiler."""
    return Gpu(Driver(str(libraries() / "libcuda.so.1")), 0)


def run_cuda(
    program: Any, target: Target, arguments: Sequence[Array], function: str = "main"
) -> Array:
    """Call a function of a program with inputs and an output: what the output holds afterwards.

    Raises ``MissingDependencyError`` without a C++ compiler, ``TunesmithError`` for code that it
    does not compile, and for what would be an error on a GPU.
    """
    return run_cuda_code(cuda_code(program, target.to_tvm()), arguments, function)


def run_cuda_code(code: CudaCode, arguments: Sequence[Array], function: str = "main") -> Array:
    """The same with the code at hand, which may have been changed. Raises like ``run_cuda``."""
    gpu, library = emulated_gpu(), ctypes.CDLL(str(libraries() / "libcuda.so.1"))
    library.tunesmith_fault.restype = ctypes.c_char_p
    loaded = GpuProgram(gpu, compile_emulated(code.source, _ARCH), code.functions)
    addresses = [gpu.upload(argument) for argument in arguments]
    try:
        loaded.call(function, addresses)
        return gpu.read(addresses[-1], np.asarray(arguments[-1]))
    except CudaError as error:
        raise TunesmithError(library.tunesmith_fault().decode() or str(error)) from error
    finally:
        library.tunesmith_reset()  # the error, which would have ended the process on a GPU
        for address in addresses:
            gpu.free(address)
        loaded.close()
