"""Calls and times machine code on a GPU."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Mapping, Sequence
from ctypes import c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

from tunesmith.cuda.gpu import Gpu
from tunesmith.cuda.lowering import Function, Launch

# CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
_MOST_DYNAMIC_SHARED = 8

# The most calls in a graph; for more the graph is launched several times.
_CALLS_OF_A_GRAPH = 100

# The warm-up is one launch of a graph with at least this many calls. With fewer the calls are slow,
# and one call warms up.
_SHORT = 10

# The most calls of a repeat with a flushed cache: flushing takes much longer than the timed call.
_FLUSHED_CALLS = 20


@dataclass(frozen=True)
class _ReadyLaunch:
    """The arguments of ``cuLaunchKernel``, and the values that they point to."""

    given: tuple[Any, ...]
    values: list[c_uint64]


@dataclass(frozen=True)
class _Graph:
    """A CUDA graph, its executable form (``ready``), and its number of calls."""

    ready: Any
    recorded: Any
    calls: int


class GpuProgram:
    """Machine code loaded on a GPU, with its workspaces. ``close`` frees all of it.

    ``functions`` are those of ``CudaCode``. Raises ``CudaError`` for code of another architecture,
    for functions that need more shared memory than a block can have, and if memory runs out.
    """

    def __init__(self, gpu: Gpu, cubin: bytes, functions: Mapping[str, Function]) -> None:
        self._gpu = gpu
        self._cuda = gpu.cuda
        self._functions = functions
        self._kernels: dict[str, Any] = {}
        self._workspaces: dict[str, list[int]] = {}
        self._launches: dict[tuple[str, tuple[int, ...]], list[_ReadyLaunch]] = {}
        self._graph: tuple[tuple[str, tuple[int, ...], int], _Graph] | None = None
        with contextlib.ExitStack() as stack:
            module = self._cuda.number("cuModuleLoadData", c_void_p, cubin)
            stack.callback(self._cuda.call, "cuModuleUnload", module)
            self._take_kernels(module)
            for name, function in functions.items():
                self._workspaces[name] = [self._workspace(stack, it) for it in function.workspaces]
            self._held = stack.pop_all()

    def _take_kernels(self, module: Any) -> None:
        launches = [it for function in self._functions.values() for it in function.launches]
        for name in {launch.kernel for launch in launches}:
            kernel = self._cuda.number("cuModuleGetFunction", c_void_p, module, name.encode())
            shared = max(it.shared_bytes for it in launches if it.kernel == name)
            if shared:
                self._cuda.call("cuFuncSetAttribute", kernel, _MOST_DYNAMIC_SHARED, shared)
            self._kernels[name] = kernel

    def _workspace(self, stack: contextlib.ExitStack, size: int) -> int:
        address = self._gpu.allocate(size)
        stack.callback(self._gpu.free, address)
        # If a program reads what it did not write, its result must show that.
        self._gpu.poison(address, size)
        return address

    def call(self, function: str, arguments: Sequence[int]) -> None:
        """Queue a call of a function with these addresses. Raises ``CudaError``."""
        key = function, tuple(arguments)
        if key not in self._launches:
            memory = [*arguments, *self._workspaces[function]]
            self._launches[key] = [
                self._ready(launch, memory) for launch in self._functions[function].launches
            ]
        for launch in self._launches[key]:
            self._cuda.call("cuLaunchKernel", *launch.given)

    def _ready(self, launch: Launch, memory: Sequence[int]) -> _ReadyLaunch:
        values = [c_uint64(memory[place]) for place in launch.arguments]
        pointers = (c_void_p * len(values))(*map(ctypes.addressof, values))
        extents = (*launch.grid, *launch.block, launch.shared_bytes)
        kernel, stream = self._kernels[launch.kernel], self._gpu.stream
        return _ReadyLaunch((kernel, *extents, stream, pointers, None), values)

    def seconds(
        self, function: str, arguments: Sequence[int], calls: int, repeats: int, flush: bool
    ) -> list[float]:
        """Mean seconds of a call on the GPU, one figure for each repeat of ``calls`` calls.

        A CUDA graph launches the calls of a repeat back to back, and an untimed launch keeps the
        GPU busy while they are queued. With ``flush`` the L2 cache is flushed before each call,
        calls are timed one by one, and there are at most 20 in a repeat.
        """
        if flush:
            few = min(calls, _FLUSHED_CALLS)
            return [self._flushed_seconds(function, arguments, few) for _ in range(repeats)]
        graph = self._recorded(function, arguments, min(calls, _CALLS_OF_A_GRAPH))
        rounds = -(-calls // graph.calls)
        if graph.calls < _SHORT:
            self.call(function, arguments)
        else:
            self._play(graph)
        for repeat in range(repeats):
            self._gpu.mark(2 * repeat)
            for _ in range(rounds):
                self._play(graph)
            self._gpu.mark(2 * repeat + 1)
        self._gpu.wait()
        spent = [self._gpu.seconds_between(2 * it, 2 * it + 1) for it in range(repeats)]
        return [seconds / (rounds * graph.calls) for seconds in spent]

    def _flushed_seconds(self, function: str, arguments: Sequence[int], calls: int) -> float:
        for call in range(calls):
            self._gpu.flush()
            self._gpu.mark(2 * call)
            self.call(function, arguments)
            self._gpu.mark(2 * call + 1)
        self._gpu.wait()
        return sum(self._gpu.seconds_between(2 * it, 2 * it + 1) for it in range(calls)) / calls

    def _play(self, graph: _Graph) -> None:
        self._cuda.call("cuGraphLaunch", graph.ready, self._gpu.stream)

    def _recorded(self, function: str, arguments: Sequence[int], calls: int) -> _Graph:
        """A graph of ``calls`` calls. The last one made is cached."""
        key = function, tuple(arguments), calls
        if self._graph is None or self._graph[0] != key:
            self._forget_graph()
            self._graph = key, self._record(function, arguments, calls)
        return self._graph[1]

    def _record(self, function: str, arguments: Sequence[int], calls: int) -> _Graph:
        stream = self._gpu.stream
        self._cuda.call("cuStreamBeginCapture_v2", stream, 0)
        try:
            for _ in range(calls):
                self.call(function, arguments)
        finally:
            recorded = self._cuda.number("cuStreamEndCapture", c_void_p, first=(stream,))
        ready = self._cuda.number("cuGraphInstantiateWithFlags", c_void_p, recorded, 0)
        return _Graph(ready, recorded, calls)

    def _forget_graph(self) -> None:
        if self._graph is not None:
            _, graph = self._graph
            self._graph = None
            self._cuda.call("cuGraphExecDestroy", graph.ready)
            self._cuda.call("cuGraphDestroy", graph.recorded)

    def close(self) -> None:
        """Wait for queued calls, unload the code, free the workspaces. Raises ``CudaError``."""
        self._gpu.wait()
        self._forget_graph()
        self._held.close()
