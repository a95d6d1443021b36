"""A GPU with a context of this process: its memory and one stream."""

from __future__ import annotations

from ctypes import c_float, c_int, c_uint64, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.cuda.devices import GpuInfo
from tunesmith.cuda.driver import Driver

Array = npt.NDArray[Any]

# Every byte of a NaN, in each float type.
_NAN_BYTE = 0xFF

# Flushing writes a multiple of the cache's size, several times. That takes longer than queueing the
# calls that follow, whose measured time would otherwise have gaps.
_FLUSH_FACTOR, _FLUSHES = 2, 10


class Gpu:
    """The GPU with this index among those that this process may use.

    Raises ``CudaError`` if it lacks memory for a context, or has been lost.
    """

    def __init__(self, cuda: Driver, index: int) -> None:
        self.cuda = cuda
        self.info = GpuInfo.of(cuda, index)
        device = cuda.number("cuDeviceGet", c_int, index)
        context = cuda.number("cuDevicePrimaryCtxRetain", c_void_p, device)
        cuda.call("cuCtxSetCurrent", context)
        # A blocking stream: it synchronises with the default stream, where copies are made.
        self.stream = cuda.number("cuStreamCreate", c_void_p, 0)
        self._events: list[Any] = []
        self._flush_buffer: int | None = None

    # -- memory ----------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """The address of ``size`` uninitialised bytes. Raises ``CudaError``."""
        return int(self.cuda.number("cuMemAlloc_v2", c_uint64, max(1, size)))

    def free(self, address: int) -> None:
        self.cuda.call("cuMemFree_v2", address)

    def upload(self, array: Array) -> int:
        """A copy of an array in new memory. Raises ``CudaError``."""
        address = self.allocate(array.nbytes)
        self.write(address, array)
        return address

    def write(self, address: int, array: Array) -> None:
        """Copy an array to an address."""
        whole = np.ascontiguousarray(array)
        self.cuda.call("cuMemcpyHtoD_v2", address, whole.ctypes.data, whole.nbytes)

    def copy(self, to: int, origin: int, size: int) -> None:
        """Copy ``size`` bytes from one address on the GPU to another."""
        self.cuda.call("cuMemcpyDtoD_v2", to, origin, size)

    def read(self, address: int, like: Array) -> Array:
        """The content at an address as an array in C order, with ``like``'s shape and type."""
        self.wait()
        array = np.empty_like(like, order="C")
        self.cuda.call("cuMemcpyDtoH_v2", array.ctypes.data, address, array.nbytes)
        return array

    def fill(self, address: int, byte: int, size: int) -> None:
        """Queue a fill of ``size`` bytes with ``byte``."""
        self.cuda.call("cuMemsetD8Async", address, byte, size, self.stream)

    def poison(self, address: int, size: int) -> None:
        """Queue a fill of ``size`` bytes with NaN, which marks memory as unwritten."""
        self.fill(address, _NAN_BYTE, size)

    def flush(self) -> None:
        """Queue writes to more memory than the L2 cache holds, which evict all else from it."""
        size = _FLUSH_FACTOR * max(1, self.info.l2_bytes)
        if self._flush_buffer is None:
            self._flush_buffer = self.allocate(size)
        for _ in range(_FLUSHES):
            self.fill(self._flush_buffer, 0, size)

    # -- time ------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Wait for all queued work. Raises ``CudaError`` if any of it failed."""
        self.cuda.call("cuStreamSynchronize", self.stream)

    def mark(self, number: int) -> None:
        """Queue an event that records the GPU's time, under a number from 0."""
        while len(self._events) <= number:
            self._events.append(self.cuda.number("cuEventCreate", c_void_p, 0))
        self.cuda.call("cuEventRecord", self._events[number], self.stream)

    def seconds_between(self, start: int, end: int) -> float:
        """Seconds between two marks that the GPU has passed."""
        events = self._events[start], self._events[end]
        return float(self.cuda.number("cuEventElapsedTime", c_float, *events)) / 1e3
