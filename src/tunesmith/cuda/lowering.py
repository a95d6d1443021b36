"""Lowers a scheduled program to CUDA C++ and the sequence of its launches.

TVM's passes split a program into GPU functions and a host function that launches them. The host
function is read here instead of compiled: it is a fixed sequence of launches. With that sequence
the program can be called without TVM, and recorded in a CUDA graph.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tunesmith.compiler.passes.pipelines import lowering_for, pipeline_of
from tunesmith.errors import TunesmithError

Extents = tuple[int, int, int]

WITHOUT_FUNCTION = "the program has no function for the GPU: bind its loops to threads"

# The global function by which TVM compiles CUDA C++.
_COMPILE = "tvm_callback_cuda_compile"

# TVM's names: the call that launches, the data pointer of a buffer, the attribute of a GPU function
# that lists its launch parameters after the buffers, and one of these parameters.
_LAUNCH = "tirx.call_ffi_kernel"
_OF_BUFFER = "tirx.buffer_data"
_LAUNCH_PARAMETERS = "tirx.kernel_launch_params"
_DYNAMIC_SHARED = "tirx.use_dyn_shared_memory"


@dataclass(frozen=True)
class Launch:
    """One launch of a function on the GPU.

    ``grid`` and ``block`` are blocks and threads along x, y and z; ``shared_bytes`` is the dynamic
    shared memory of a block. ``arguments`` are indices in the list of the program's arguments and
    workspaces, in this order.
    """

    kernel: str
    grid: Extents
    block: Extents
    shared_bytes: int
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class Function:
    """A function of a program: its launches, and the size of each workspace in bytes."""

    launches: tuple[Launch, ...]
    workspaces: tuple[int, ...] = ()


@dataclass(frozen=True)
class CudaCode:
    """A program as CUDA C++, and its functions (``main``, ``prepare``) by name."""

    source: str
    functions: Mapping[str, Function]


def functions_from_json(functions: Mapping[str, Any]) -> dict[str, Function]:
    """Restore functions from the JSON of their ``dataclasses.asdict``."""

    def launch(fields: Mapping[str, Any]) -> Launch:
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fields.items()
        }
        return Launch(**known)

    return {
        name: Function(tuple(map(launch, function["launches"])), tuple(function["workspaces"]))
        for name, function in functions.items()
    }


def cuda_code(program: Any, target: Any) -> CudaCode:
    """The CUDA C++ and launches of a scheduled module, for a ``tvm.target.Target``.

    Raises what TVM raises, and ``TunesmithError`` for a program without a GPU function, or with
    launch parameters that are not supported.
    """
    from tvm.tirx.build import codegen_build, split_host_device_mods
    from tvm.tirx.transform import BindTarget

    with lowering_for(target):
        lower, _, finish_device = pipeline_of(program, target)
        host, devices = split_host_device_mods(lower(BindTarget(target)(program)))
    if len(devices) != 1:
        raise TunesmithError(WITHOUT_FUNCTION)
    ((device_target, device),) = devices.items()
    with compiling_by(lambda _: b""):  # only the source is needed
        code = codegen_build(finish_device()(device), device_target)
    # Never free the module: that would make TVM initialise the GPU, which is slow and breaks CUDA
    # in processes forked from this one.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    parameters = {
        str(name.name_hint): tuple(map(str, function.attrs[_LAUNCH_PARAMETERS]))
        for name, function in device.functions.items()
    }
    functions = {
        str(name.name_hint): _function(function, parameters)
        for name, function in host.functions.items()
    }
    return CudaCode(str(code.inspect_source()), functions)


def cuda_source(program: Any, target: Any) -> str:
    """The CUDA C++ alone. Raises like ``cuda_code``."""
    return cuda_code(program, target).source


@dataclass
class _Reader:
    """Reads the launches of a host function from its statements, in order.

    ``buffers`` holds each buffer seen so far with the argument or workspace whose memory it uses.
    """

    parameters: Mapping[str, tuple[str, ...]]
    arguments: list[Any] = field(default_factory=list)
    workspaces: list[Any] = field(default_factory=list)
    buffers: list[tuple[Any, Any]] = field(default_factory=list)
    launches: list[tuple[str, list[Any], list[int]]] = field(default_factory=list)

    def declare(self, statement: Any) -> None:
        """A buffer on the memory of another one, or if on none, an argument."""
        buffer, memory = statement.buffer, statement.data
        if memory.op.name == _OF_BUFFER:
            self.buffers.append((buffer, self.origin(memory.args[0])))
        else:
            self.arguments.append(buffer)
            self.buffers.append((buffer, buffer))

    def allocate(self, statement: Any) -> None:
        self.workspaces.append(statement.buffer)
        self.buffers.append((statement.buffer, statement.buffer))

    def evaluate(self, statement: Any) -> None:
        call = statement.value
        if getattr(getattr(call, "op", None), "name", "") != _LAUNCH:
            return
        kernel, *given = call.args
        name = str(kernel.value)
        count = len(given) - len(self.parameters[name])
        buffers = [self.origin(argument.args[0]) for argument in given[:count]]
        self.launches.append((name, buffers, [int(extent) for extent in given[count:]]))

    def origin(self, buffer: Any) -> Any:
        return next(memory for one, memory in self.buffers if one.same_as(buffer))

    def function(self) -> Function:
        return Function(
            tuple(self._launch(*launch) for launch in self.launches),
            tuple(_bytes(buffer) for buffer in self.workspaces),
        )

    def _launch(self, kernel: str, given: list[Any], values: list[int]) -> Launch:
        extents = dict(zip(self.parameters[kernel], values, strict=True))
        shared = extents.pop(_DYNAMIC_SHARED, 0)
        grid, block = (
            (extents.pop(f"{part}.x", 1), extents.pop(f"{part}.y", 1), extents.pop(f"{part}.z", 1))
            for part in ("blockIdx", "threadIdx")
        )
        if extents:
            raise TunesmithError(f"launches with {', '.join(extents)} are not supported")
        known = [*self.arguments, *self.workspaces]
        places = (place for one in given for place, each in enumerate(known) if each.same_as(one))
        return Launch(kernel, grid, block, shared, tuple(places))


def _function(function: Any, parameters: Mapping[str, tuple[str, ...]]) -> Function:
    import tvm_ffi
    from tvm.tirx import AllocBuffer, DeclBuffer, Evaluate

    reader = _Reader(parameters)
    visits = [
        (DeclBuffer, reader.declare),
        (AllocBuffer, reader.allocate),
        (Evaluate, reader.evaluate),
    ]
    tvm_ffi.structural_walk(function.body, visits, order="pre")
    return reader.function()


def _bytes(buffer: Any) -> int:
    from tunesmith.operators import element_bits

    return math.prod(int(extent) for extent in buffer.shape) * element_bits(str(buffer.dtype)) // 8


@contextlib.contextmanager
def compiling_by(compile: Callable[[str], bytes]) -> Iterator[None]:
    """Within the block TVM calls ``compile`` to compile CUDA C++."""
    import tvm_ffi

    before = tvm_ffi.get_global_func(_COMPILE, allow_missing=True)
    tvm_ffi.register_global_func(_COMPILE, compile, override=True)
    try:
        yield
    finally:
        if before is None:
            tvm_ffi.registry.remove_global_func(_COMPILE)
        else:
            tvm_ffi.register_global_func(_COMPILE, before, override=True)
