"""TVM's runtime for NVIDIA GPUs, which kernels need: it launches their code."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from ctypes import CDLL, RTLD_GLOBAL
from pathlib import Path

from tunesmith.cuda.driver import driver
from tunesmith.errors import MissingDependencyError, one_line

LIBRARY = "libtvm_runtime_cuda.so"

# CUDA's own runtime, which that library is linked with.
CUDA_LIBRARY = "libcudart.so.13"

# What is registered where the library is loaded.
_LOADED = "ffi.Module.create.cuda"


def has_runtime() -> bool:
    """Whether TVM's runtime for GPUs is loaded."""
    import tvm_ffi

    return tvm_ffi.get_global_func(_LOADED, allow_missing=True) is not None


def load_runtime() -> None:
    """Load TVM's runtime for GPUs, unless it came with TVM, as it does where all it needs is found.

    CUDA's runtime may be that of the Python package ``nvidia-cuda-runtime``, where no loader looks
    by itself. Raises ``UsageError`` where there is no GPU or no driver, and
    ``MissingDependencyError`` where the library does not load.
    """
    import tvm

    if has_runtime():
        return
    driver()
    for needed in _packaged():
        CDLL(str(needed), mode=RTLD_GLOBAL)
    try:
        CDLL(str(Path(tvm.__file__).parent / "lib" / LIBRARY))
    except OSError as error:
        if CUDA_LIBRARY in str(error):
            raise MissingDependencyError(
                f"kernels for GPUs need CUDA's runtime 13 ({CUDA_LIBRARY}): pip install "
                "'nvidia-cuda-runtime==13.*', or install the CUDA toolkit 13"
            ) from error
        raise MissingDependencyError(
            f"TVM's runtime for GPUs does not load: {one_line(str(error))}"
        ) from error


def _packaged() -> Iterator[Path]:
    """CUDA's runtime in Python's packages, where NVIDIA's have it."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or []) if found else []:
        yield from sorted(Path(folder).glob(f"*/lib/{CUDA_LIBRARY}"))
