"""A GPU with a context of this process: memory, and calls in the order in which they are made."""

from __future__ import annotations

from ctypes import c_float, c_int, c_uint64, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.cuda.devices import GpuInfo
from tunesmith.cuda.driver import Driver

Array = npt.NDArray[Any]

# NaN in each type of float.
_UNWRITTEN = 0xFF

# Emptying the cache writes so many times what it holds, and so often: it takes longer than the
# processor needs to queue the calls that follow, whose time would have gaps otherwise.
_FLUSHED, _FLUSHES = 2, 10


class Gpu:
    """A GPU, by its index among those that this process may use.

    Raises ``CudaError`` where it has no memory left for a context, or has gone.
    """

    def __init__(self, cuda: Driver, index: int) -> None:
        self.cuda = cuda
        self.info = GpuInfo.of(cuda, index)
        device = cuda.number("cuDeviceGet", c_int, index)
        context = cuda.number("cuDevicePrimaryCtxRetain", c_void_p, device)
        cuda.call("cuCtxSetCurrent", context)
        # It takes turns with the driver's own stream, where copies are made.
        self.stream = cuda.number("cuStreamCreate", c_void_p, 0)
        self._events: list[Any] = []
        self._flushed: int | None = None

    # -- memory ----------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """The address of so many bytes, which hold anything. Raises ``CudaError``."""
        return int(self.cuda.number("cuMemAlloc_v2", c_uint64, max(1, size)))

    def free(self, address: int) -> None:
        self.cuda.call("cuMemFree_v2", address)

    def upload(self, array: Array) -> int:
        """A copy of an array in new memory. Raises ``CudaError``."""
        address = self.allocate(array.nbytes)
        self.write(address, array)
        return address

    def write(self, address: int, array: Array) -> None:
        """Copy an array there."""
        whole = np.ascontiguousarray(array)
        self.cuda.call("cuMemcpyHtoD_v2", address, whole.ctypes.data, whole.nbytes)

    def copy(self, to: int, origin: int, size: int) -> None:
        """Copy so many bytes from one place on the GPU to another."""
        self.cuda.call("cuMemcpyDtoD_v2", to, origin, size)

    def read(self, address: int, like: Array) -> Array:
        """What is there, as an array of the same shape and type, in C order."""
        self.wait()
        array = np.empty_like(like, order="C")
        self.cuda.call("cuMemcpyDtoH_v2", array.ctypes.data, address, array.nbytes)
        return array

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set so many bytes, after what was called before."""
        self.cuda.call("cuMemsetD8Async", address, byte, size, self.stream)

    def spoil(self, address: int, size: int) -> None:
        """Make so many bytes what nothing was written to: NaN. After what was called before."""
        self.fill(address, _UNWRITTEN, size)

    def flush(self) -> None:
        """Empty the L2 cache, after what was called before: write to more than it holds."""
        size = _FLUSHED * max(1, self.info.l2_bytes)
        if self._flushed is None:
            self._flushed = self.allocate(size)
        for _ in range(_FLUSHES):
            self.fill(self._flushed, 0, size)

    # -- time ------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Until all that was called has ended. Raises ``CudaError`` with what went wrong."""
        self.cuda.call("cuStreamSynchronize", self.stream)

    def mark(self, number: int) -> None:
        """Note the time on the GPU when it comes to this point, under a number from 0."""
        while len(self._events) <= number:
            self._events.append(self.cuda.number("cuEventCreate", c_void_p, 0))
        self.cuda.call("cuEventRecord", self._events[number], self.stream)

    def seconds_between(self, start: int, end: int) -> float:
        """Seconds on the GPU from one mark to another, which have both been reached."""
        events = self._events[start], self._events[end]
        return float(self.cuda.number("cuEventElapsedTime", c_float, *events)) / 1e3
