"""Writing a program loop by loop, for what TVM's schedule primitives cannot express.

A sketch writes its loops as ``with emit.module(): with emit.function(...)``,
``with emit.parallel(...)`` and ``with emit.serial(...)``. What Python unrolls becomes straight
code: a register tile is a ``Registers``, whose elements LLVM keeps in registers.

Tiles that do not divide an extent overlap: the last one starts early enough to be whole
(``tile_start``), so there is one kernel for all tiles, without masks and without a remainder.
Elements of two tiles are computed twice, with the same result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tunesmith.errors import InstantiationError
from tunesmith.operators import Argument, element_bits

# Programs index memory with signed numbers of 32 bits.
_MOST_ELEMENTS = 2**31 - 1
_LINE_BYTES = 64


@contextmanager
def module() -> Iterator[list[Any]]:
    """Around the functions of a module. It yields a list that holds the module afterwards."""
    from tvm.script.ir_builder import IRBuilder, ir

    made: list[Any] = []
    with IRBuilder() as builder, ir.ir_module():
        yield made
    made.append(builder.get())


@contextmanager
def function(name: str, parameters: Sequence[Argument]) -> Iterator[list[Any]]:
    """Around the body of a function; yields its parameters as buffers.

    No two of them may overlap in memory. Raises ``InstantiationError`` for one whose elements 32
    bits cannot number.
    """
    for one in parameters:
        check_size(one.name, one.shape)
    t = _builder()
    with t.prim_func(s_tir=True):  # the lowering that knows ``parallel``
        t.func_name(name)
        t.func_attr({"global_symbol": name, "tirx.noalias": True})
        yield [t.arg(one.name, t.buffer(one.shape, one.dtype)) for one in parameters]


@contextmanager
def serial(extent: Any, name: str, *, rolled: bool = False) -> Iterator[Any]:
    """A loop over an extent, a number or an expression; yields its variable, or 0 where there is
    a single step. ``rolled`` means that nvcc is not to unroll it."""
    if isinstance(extent, int) and extent == 1:
        yield 0
        return
    t = _builder()
    with t.serial(0, extent, annotations={"disable_unroll": True} if rolled else None) as variable:
        yield _named(name, variable)


@contextmanager
def parallel(extent: int, name: str) -> Iterator[Any]:
    """A loop whose steps are shared among the cores."""
    t = _builder()
    with t.parallel(0, extent) as variable:
        yield _named(name, variable)


@contextmanager
def thread_binding(extent: int, tag: str) -> Iterator[Any]:
    """A loop whose steps are blocks of a grid or threads of a block, such as ``blockIdx.x``."""
    t = _builder()
    with t.thread_binding(0, extent, thread=tag) as variable:
        yield _named(tag.replace(".", "_"), variable)


@contextmanager
def when(condition: Any) -> Iterator[None]:
    """Around what happens only where a condition holds: an expression, or True or None where
    that is always."""
    if condition is True or condition is None:
        yield
        return
    t = _builder()
    with t.If(condition), t.Then():
        yield


@contextmanager
def llvm(text: str) -> Iterator[None]:
    """Around code that calls (``called``) functions written in LLVM-IR, for instructions whose
    types TIR lacks. They should be ``internal`` and ``alwaysinline``."""
    t = _builder()
    with t.attr(t.int32(0), "pragma_import_llvm", text):
        yield


def called(name: str, result: str, *arguments: Any) -> Any:
    """What a function of ``llvm`` returns, a vector type such as ``float32x16``."""
    from tvm import tirx

    return tirx.call_pure_extern(result, name, *arguments)


def intrinsic(name: str, result: str, *arguments: Any) -> Any:
    """What an intrinsic of LLVM such as ``llvm.x86.avx512.vpdpbusd.512`` returns."""
    from tvm import tirx

    return tirx.call_llvm_pure_intrin(result, name, *arguments)


def reinterpreted(value: Any, dtype: str) -> Any:
    """The same bits as another type of the same size, such as ``int8x64`` for ``int32x16``."""
    from tvm import tirx

    return tirx.reinterpret(dtype, value)


def if_then_else(condition: Any, value: Any, otherwise: Any) -> Any:
    """One of two values, of which only that one is computed."""
    return _builder().if_then_else(condition, value, otherwise)


def maximum(value: Any, other: Any) -> Any:
    """The larger of two, lane by lane."""
    return _builder().max(value, other)


def minimum(value: Any, other: Any) -> Any:
    """The smaller of two, lane by lane."""
    return _builder().min(value, other)


def vector_type(dtype: str, lanes: int) -> str:
    """The type of a vector."""
    return f"{dtype}x{lanes}" if lanes > 1 else dtype


def line_elements(dtype: str) -> int:
    """How many elements a cache line holds."""
    return max(1, _LINE_BYTES * 8 // element_bits(dtype))


def prefetch(source: Any, index: Sequence[Any], *, near: bool = True, write: bool = False) -> None:
    """Prefetch the cache line of an element, which may be outside of the buffer.

    ``near``: to L1, otherwise to L2; ``write``: for a store.
    """
    t = _builder()
    address = t.address_of(source[tuple(index)])
    # The last argument: data, not instructions.
    hint = [t.int32(number) for number in (write, 3 if near else 2, 1)]
    t.evaluate(t.call_llvm_intrin("void", "llvm.prefetch.p0", address, *hint))


def bind(name: str, value: Any) -> Any:
    """A variable for a value that is used more than once; an ``int`` stays one."""
    if isinstance(value, int):
        return value
    return _named(name, _builder().Bind(value))


def buffer(
    name: str,
    shape: Sequence[int],
    dtype: str,
    scope: str = "global",
    alignment: int | None = None,
) -> Any:
    """Memory: that of the function, or of a task inside of a parallel loop. It begins at a multiple
    of ``alignment`` bytes, by default one that is enough for vectors. Raises
    ``InstantiationError`` where 32 bits cannot number its elements."""
    check_size(name, shape)
    align = -1 if alignment is None else alignment
    return _named(name, _builder().alloc_buffer(tuple(shape), dtype, scope=scope, align=align))


def intermediate(name: str, shape: Sequence[int], dtype: str) -> Any:
    """Memory between two stages of a function that is scheduled.

    Raises ``InstantiationError`` where 32 bits cannot number its elements.
    """
    check_size(name, shape)
    return _named(name, _builder().sblock_alloc_buffer(tuple(shape), dtype))


def flat(source: Any, name: str | None = None) -> Any:
    """A buffer's elements in one dimension, of the same memory: indices are offsets in elements."""
    size = math.prod(int(extent) for extent in source.shape)
    view = _builder().decl_buffer((size,), source.dtype, data=source.data)
    return view if name is None else _named(name, view)


def load(source: Any, index: Sequence[Any], lanes: int = 1, stride: int = 1) -> Any:
    """An element, or a vector along the last dimension with elements ``stride`` apart."""
    return source[_vector(index, lanes, stride)] if lanes > 1 else source[tuple(index)]


def store(target: Any, value: Any, index: Sequence[Any], lanes: int = 1) -> None:
    """The inverse of ``load``."""
    place = _vector(index, lanes, 1) if lanes > 1 else tuple(index)
    _builder().buffer_store(target, value, list(place))


def broadcast(value: Any, lanes: int) -> Any:
    """A scalar in all lanes of a vector."""
    return _builder().broadcast(value, lanes) if lanes > 1 else value


def constant(value: float, dtype: str, lanes: int = 1) -> Any:
    """A number, or a vector with it in all lanes."""
    from tvm import tirx

    return broadcast(tirx.const(value, dtype), lanes)


def power_of_two(limit: int) -> int:
    """The largest power of two that is not above a limit."""
    return 1 << (limit.bit_length() - 1)


def powers_up_to(limit: int) -> tuple[int, ...]:
    """The powers of two that are not above a limit."""
    return tuple(1 << bit for bit in range(limit.bit_length()))


def largest_divisor(extent: int, most: int) -> int:
    """The largest divisor of an extent that is not above a limit."""
    return max(divisor for divisor in range(1, most + 1) if extent % divisor == 0)


def powers_of_two(number: int, largest: int) -> list[tuple[int, int]]:
    """A number as a sum of powers of two up to the largest: the place and size of each part."""
    parts, place = [], 0
    while place < number:
        size = min(largest, power_of_two(number - place))
        parts.append((place, size))
        place += size
    return parts


def tile_start(tile: Any, size: int, extent: int) -> Any:
    """Where a tile begins: at a multiple of its size, the last one early enough to be whole."""
    if extent % size == 0:
        return tile * size
    return _builder().min(tile * size, extent - size)


def unravel_index(number: Any, **extents: int) -> list[Any]:
    """The indices of a flat one, given the extent of each: the first one varies fastest, as with
    ``order="F"`` in NumPy."""
    found = []
    for name, extent in extents.items():
        found.append(bind(name, number % extent))
        number = number // extent
    return found


def tile_count(extent: int, size: int) -> int:
    """How many tiles of a size cover an extent."""
    return -(-extent // size)


def check_size(name: str, shape: Sequence[int]) -> None:
    """Raises ``InstantiationError`` for memory whose elements 32 bits cannot number."""
    if math.prod(shape) > _MOST_ELEMENTS:
        raise InstantiationError(
            f"{name} {tuple(shape)} has more than 2^31 - 1 elements: take another config or sketch"
        )


def _vector(index: Sequence[Any], lanes: int, stride: int) -> tuple[Any, ...]:
    return (*index[:-1], _builder().ramp(index[-1], stride, lanes))


def _builder() -> Any:
    from tvm.tirx.script.builder import ir

    return ir


def _named(name: str, value: Any) -> Any:
    from tvm.script.ir_builder import IRBuilder

    IRBuilder.name(name, value)
    return value
