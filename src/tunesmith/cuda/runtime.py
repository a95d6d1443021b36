"""Loads TVM's runtime for NVIDIA GPUs, which launches kernels."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from ctypes import CDLL, RTLD_GLOBAL
from pathlib import Path

from tunesmith.cuda.driver import driver
from tunesmith.errors import MissingDependencyError, one_line

LIBRARY = "libtvm_runtime_cuda.so"

# CUDA's runtime, to which that library is linked.
CUDA_LIBRARY = "libcudart.so.13"

# A global function that TVM registers when the library is loaded.
_LOADED = "ffi.Module.create.cuda"


def has_runtime() -> bool:
    """Whether TVM's runtime for GPUs is loaded."""
    import tvm_ffi

    return tvm_ffi.get_global_func(_LOADED, allow_missing=True) is not None


def load_runtime() -> None:
    """Load TVM's runtime for GPUs, unless TVM has loaded it on import.

    CUDA's runtime may come from the Python package ``nvidia-cuda-runtime``, which the dynamic
    loader does not search. Raises ``UsageError`` if there is no GPU or no driver, and
    ``MissingDependencyError`` if the library does not load.
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
    """The paths of CUDA's runtime in NVIDIA's Python packages."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or []) if found else []:
        yield from sorted(Path(folder).glob(f"*/lib/{CUDA_LIBRARY}"))
