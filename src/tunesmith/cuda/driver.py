"""The functions of the CUDA driver API that measuring needs, through ctypes.

Every machine with an NVIDIA GPU has the driver, and its interface is stable across versions.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_float,
    c_int,
    c_size_t,
    c_uint,
    c_uint64,
    c_ulonglong,
    c_void_p,
)
from functools import cached_property, lru_cache
from typing import Any

from tunesmith.errors import TunesmithError, UsageError

LIBRARY = "libcuda.so.1"

# The oldest driver that has all of these functions, in the format of cuDriverGetVersion.
_OLDEST = 12000

_NAMED = POINTER(c_char_p)
_POINTER = POINTER(c_void_p)

# The parameters of each function; all return an error code.
_SIGNATURES: dict[str, list[Any]] = {
    "cuInit": [c_uint],
    "cuDriverGetVersion": [POINTER(c_int)],
    "cuDeviceGetCount": [POINTER(c_int)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDeviceGetName": [c_char_p, c_int, c_int],
    "cuDeviceGetPCIBusId": [c_char_p, c_int, c_int],
    "cuDeviceTotalMem_v2": [POINTER(c_size_t), c_int],
    "cuDeviceGetAttribute": [POINTER(c_int), c_int, c_int],
    "cuDevicePrimaryCtxRetain": [_POINTER, c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuGetErrorName": [c_int, _NAMED],
    "cuGetErrorString": [c_int, _NAMED],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemGetInfo_v2": [POINTER(c_size_t), POINTER(c_size_t)],
    "cuMemcpyHtoD_v2": [c_uint64, c_void_p, c_size_t],
    "cuMemcpyDtoH_v2": [c_void_p, c_uint64, c_size_t],
    "cuMemcpyDtoD_v2": [c_uint64, c_uint64, c_size_t],
    "cuMemsetD8Async": [c_uint64, ctypes.c_ubyte, c_size_t, c_void_p],
    "cuModuleLoadData": [_POINTER, c_char_p],
    "cuModuleUnload": [c_void_p],
    "cuModuleGetFunction": [_POINTER, c_void_p, c_char_p],
    "cuFuncSetAttribute": [c_void_p, c_int, c_int],
    "cuLaunchKernel": [c_void_p, *[c_uint] * 7, c_void_p, _POINTER, _POINTER],
    "cuStreamCreate": [_POINTER, c_uint],
    "cuStreamSynchronize": [c_void_p],
    "cuStreamBeginCapture_v2": [c_void_p, c_int],
    "cuStreamEndCapture": [c_void_p, _POINTER],
    "cuGraphInstantiateWithFlags": [_POINTER, c_void_p, c_ulonglong],
    "cuGraphLaunch": [c_void_p, c_void_p],
    "cuGraphExecDestroy": [c_void_p],
    "cuGraphDestroy": [c_void_p],
    "cuEventCreate": [_POINTER, c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventSynchronize": [c_void_p],
    "cuEventElapsedTime": [POINTER(c_float), c_void_p, c_void_p],
}

OUT_OF_MEMORY = 2
_NO_DEVICE = 100

# Errors of arguments, memory, code and launches, after which the context still works. After any
# other one it may be unusable (driver API reference, "CUresult").
_HARMLESS = frozenset({1, 2, 101, 200, 209, 218, 221, 222, 223, 300, 301, 500, 701, 801, 900, 901})

# What some error codes mean to a user.
_REASONS = {
    3: "CUDA does not survive a fork: start a new process to measure in",
    34: "a stub of the driver is installed: install the driver itself",
    46: "another process uses it exclusively, or it has been lost",
    _NO_DEVICE: "there is no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it",
    802: "it is not ready: on machines with NVSwitch nvidia-fabricmanager has to run",
    803: "the driver's library and its kernel module differ: restart the machine, or install one "
    "version of both",
    804: "this driver is too old for its library: update the driver",
    999: "the GPU or its driver has failed: nvidia-smi and the system's log say more",
}


class CudaError(TunesmithError):
    """A driver function returned an error, its own or that of a program on the GPU.

    ``code`` is CUDA's ``CUresult``. ``sticky`` says whether CUDA no longer works in this process.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def sticky(self) -> bool:
        return self.code not in _HARMLESS

    @property
    def reason(self) -> str:
        """The error in a user's terms."""
        return _REASONS.get(self.code, str(self))


class Driver:
    """The driver's library, initialised.

    Raises ``UsageError`` if there is none, if it is too old, and if it finds no GPU.
    """

    def __init__(self, library: str = LIBRARY) -> None:
        try:
            self._library = ctypes.CDLL(library)
        except OSError as error:
            raise UsageError(
                "no NVIDIA GPU can be used: no driver is installed on this machine"
            ) from error
        for name, arguments in _SIGNATURES.items():
            try:
                getattr(self._library, name).argtypes = arguments
            except AttributeError as error:
                raise UsageError(
                    f"the NVIDIA driver is too old, it lacks {name}: update it"
                ) from error
        try:
            self.call("cuInit", 0)
        except CudaError as error:
            raise UsageError(f"no NVIDIA GPU can be used: {error.reason}") from error
        if self.version < _OLDEST:
            raise UsageError(
                f"the NVIDIA driver is for CUDA {version_text(self.version)}: update it to one for "
                f"CUDA {version_text(_OLDEST)} or newer"
            )

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function. Raises ``CudaError``."""
        code = getattr(self._library, function)(*arguments)
        if code:
            raise CudaError(code, self._describe(code, function))

    def number(self, function: str, kind: Any, *arguments: Any, first: tuple[Any, ...] = ()) -> Any:
        """Call a function with an output parameter of type ``kind``, and return its value.

        The arguments ``first`` precede the output parameter, all others follow it.
        """
        value = kind()
        self.call(function, *first, ctypes.byref(value), *arguments)
        return value.value

    @cached_property
    def version(self) -> int:
        """The newest CUDA version that the driver supports: 13000 for 13.0."""
        return int(self.number("cuDriverGetVersion", c_int))

    def _describe(self, code: int, function: str) -> str:
        name, text = c_char_p(), c_char_p()
        self._library.cuGetErrorName(code, ctypes.byref(name))
        self._library.cuGetErrorString(code, ctypes.byref(text))
        known = name.value.decode() if name.value else f"error {code}"
        reason = text.value.decode() if text.value else "unknown error"
        return f"{reason} ({known} of {function})"


def version_text(version: int) -> str:
    """``13.0`` for 13000."""
    return f"{version // 1000}.{version % 1000 // 10}"


@lru_cache(maxsize=1)
def driver() -> Driver:
    """This machine's driver. Raises like ``Driver``."""
    return Driver()
