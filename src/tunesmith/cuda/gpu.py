"""A GPU with a context of this process: memory, programs, calls, and the time that they take."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Mapping, Sequence
from ctypes import c_float, c_int, c_uint64, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from tunesmith.cuda.devices import GpuInfo
from tunesmith.cuda.driver import Driver
from tunesmith.cuda.lowering import Function, Launch

Array = npt.NDArray[Any]

# The number of CUfunction_attribute for shared memory that is given at the launch; a function may
# use so much of it without asking.
_MOST_DYNAMIC_SHARED = 8
_UNASKED_SHARED = 48 * 1024

# How many calls are recorded in a graph at the most: more of them are several launches of it.
_CALLS_OF_A_GRAPH = 100

# Emptying the cache writes so many times what it holds.
_FLUSHED = 2


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
        self.stream = cuda.number("cuStreamCreate", c_void_p, 0)
        self._start = cuda.number("cuEventCreate", c_void_p, 0)
        self._end = cuda.number("cuEventCreate", c_void_p, 0)
        self._flushed: int | None = None

    # -- memory ----------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """The address of so many bytes, which hold anything. Raises ``CudaError``."""
        return int(self.cuda.number("cuMemAlloc_v2", c_uint64, max(1, size)))

    def free(self, address: int) -> None:
        self.cuda.call("cuMemFree_v2", address)

    @contextlib.contextmanager
    def borrowed(self, sizes: Sequence[int]) -> Iterator[list[int]]:
        """Addresses of pieces of so many bytes, for a while."""
        with contextlib.ExitStack() as stack:
            yield [self._borrow(stack, size) for size in sizes]

    def _borrow(self, stack: contextlib.ExitStack, size: int) -> int:
        address = self.allocate(size)
        stack.callback(self.free, address)
        return address

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
        """What is there, as an array of the same shape and type."""
        self.wait()
        array = np.empty_like(like, order="C")
        self.cuda.call("cuMemcpyDtoH_v2", array.ctypes.data, address, array.nbytes)
        return array

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set so many bytes, after what was called before."""
        self.cuda.call("cuMemsetD8Async", address, byte, size, self.stream)

    def flush(self) -> None:
        """Empty the L2 cache, after what was called before: write to more than it holds."""
        size = _FLUSHED * max(1, self.info.l2_bytes)
        if self._flushed is None:
            self._flushed = self.allocate(size)
        self.fill(self._flushed, 0, size)

    # -- time ------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Until all that was called has ended. Raises ``CudaError`` with what went wrong."""
        self.cuda.call("cuStreamSynchronize", self.stream)

    @contextlib.contextmanager
    def timed(self) -> Iterator[list[float]]:
        """Between two events of the GPU: the list has the seconds afterwards."""
        seconds: list[float] = []
        self.cuda.call("cuEventRecord", self._start, self.stream)
        yield seconds
        self.cuda.call("cuEventRecord", self._end, self.stream)
        self.cuda.call("cuEventSynchronize", self._end)
        elapsed = self.cuda.number("cuEventElapsedTime", c_float, self._start, self._end)
        seconds.append(elapsed / 1e3)


class GpuProgram:
    """Machine code on a GPU. ``close`` unloads it.

    ``functions`` are those of ``CudaCode``. Raises ``CudaError``, for code of another instruction
    set and for functions that want more of a block than there is.
    """

    def __init__(self, gpu: Gpu, cubin: bytes, functions: Mapping[str, Function]) -> None:
        self._gpu = gpu
        self._cuda = gpu.cuda
        self._functions = functions
        self._module = self._cuda.number("cuModuleLoadData", c_void_p, cubin)
        self._kernels: dict[str, Any] = {}
        for function in functions.values():
            for launch in function.launches:
                self._kernels[launch.kernel] = self._kernel(launch)
        self._workspaces = {
            name: [gpu.allocate(size) for size in function.workspaces]
            for name, function in functions.items()
        }

    def call(self, function: str, arguments: Sequence[int]) -> None:
        """Call a function with addresses; it ends later, see ``Gpu.wait``. Raises ``CudaError``."""
        memory = [*arguments, *self._workspaces[function]]
        for launch in self._functions[function].launches:
            self._launch(launch, memory)

    def seconds(
        self, function: str, arguments: Sequence[int], calls: int, repeats: int, flush: bool
    ) -> list[float]:
        """Mean seconds of a call on the GPU, one figure for each repeat of so many calls.

        The calls follow each other without the processor: a CUDA graph has them. With ``flush`` the
        L2 cache is emptied before each call, which then is timed by itself.
        """
        if flush:
            return [self._flushed_seconds(function, arguments, calls) for _ in range(repeats)]
        size = min(calls, _CALLS_OF_A_GRAPH)
        rounds = -(-calls // size)
        with self._recorded(function, arguments, size) as graph:
            figures = []
            for _ in range(repeats):
                with self._gpu.timed() as seconds:
                    for _ in range(rounds):
                        self._cuda.call("cuGraphLaunch", graph, self._gpu.stream)
                figures.append(seconds[0] / (rounds * size))
            return figures

    def _flushed_seconds(self, function: str, arguments: Sequence[int], calls: int) -> float:
        total = 0.0
        for _ in range(calls):
            self._gpu.flush()
            with self._gpu.timed() as seconds:
                self.call(function, arguments)
            total += seconds[0]
        return total / calls

    @contextlib.contextmanager
    def _recorded(self, function: str, arguments: Sequence[int], calls: int) -> Iterator[Any]:
        """A CUDA graph of so many calls, one after the other."""
        stream = self._gpu.stream
        self._cuda.call("cuStreamBeginCapture_v2", stream, 0)
        try:
            for _ in range(calls):
                self.call(function, arguments)
        finally:
            graph = self._cuda.number("cuStreamEndCapture", c_void_p, first=(stream,))
        ready = self._cuda.number("cuGraphInstantiateWithFlags", c_void_p, graph, 0)
        try:
            yield ready
        finally:
            self._cuda.call("cuGraphExecDestroy", ready)
            self._cuda.call("cuGraphDestroy", graph)

    def _kernel(self, launch: Launch) -> Any:
        kernel = self._cuda.number(
            "cuModuleGetFunction", c_void_p, self._module, launch.kernel.encode()
        )
        if launch.shared_bytes > _UNASKED_SHARED:
            self._cuda.call("cuFuncSetAttribute", kernel, _MOST_DYNAMIC_SHARED, launch.shared_bytes)
        return kernel

    def _launch(self, launch: Launch, memory: Sequence[int]) -> None:
        values = [c_uint64(memory[place]) for place in launch.arguments]
        pointers = (c_void_p * len(values))(
            *(ctypes.cast(ctypes.byref(value), c_void_p) for value in values)
        )
        self._cuda.call(
            "cuLaunchKernel",
            self._kernels[launch.kernel],
            *launch.grid,
            *launch.block,
            launch.shared_bytes,
            self._gpu.stream,
            pointers,
            None,
        )

    def close(self) -> None:
        """Unload the code and free the workspaces."""
        for workspaces in self._workspaces.values():
            for address in workspaces:
                self._gpu.free(address)
        self._cuda.call("cuModuleUnload", self._module)
