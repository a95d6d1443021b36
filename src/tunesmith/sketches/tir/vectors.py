"""Masked and strided vectors, and vectors of bfloat16."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from tunesmith.sketches.tir import emit, shuffles


def within(start: Any, lanes: int, size: int, condition: Any = None) -> Any:
    """The mask of those numbers from ``start`` on that are in [0, size), if ``condition`` holds.
    None stands for all lanes, where a constant start allows that."""
    from tvm.tirx.script.builder import ir

    known = isinstance(start, int)
    numbers = ir.ramp(start, 1, lanes) if lanes > 1 else start
    bounds = []
    if not known or start < 0:
        bounds.append(numbers >= emit.constant(0, "int32", lanes))
    if not known or start + lanes > size:
        bounds.append(numbers < emit.constant(size, "int32", lanes))
    if condition is not None:
        bounds.append(emit.broadcast(condition, lanes))
    return reduce(and_, bounds) if bounds else None


def load_masked(
    source: Any, index: Sequence[Any], lanes: int, mask: Any | None, fill: float = 0
) -> Any:
    """Load lanes along the last dimension of a buffer, ``fill`` in those outside of a mask."""
    if mask is None:
        return emit.load(source, index, lanes)
    if lanes == 1:
        return emit.if_then_else(
            mask, emit.load(source, index), emit.constant(fill, str(source.dtype))
        )
    from tvm.tirx.script.builder import ir

    # TIR's own masked load leaves the other lanes undefined, which LLVM then makes use of.
    dtype = str(source.dtype)
    kind = f"v{lanes}{'f' if dtype.startswith('float') else 'i'}{source.dtype.bits}"
    return emit.intrinsic(
        f"llvm.masked.load.{kind}.p0",
        emit.vector_type(dtype, lanes),
        ir.address_of(source[tuple(index)]),
        mask,
        emit.constant(fill, dtype, lanes),
    )


def store_masked(
    target: Any, value: Any, index: Sequence[Any], lanes: int, mask: Any | None
) -> None:
    """Store the lanes of a mask along the last dimension of a buffer."""
    if mask is None:
        emit.store(target, value, index, lanes)
        return
    if lanes == 1:
        with emit.when(mask):
            emit.store(target, value, index)
        return
    from tvm.tirx.script.builder import ir

    place = ir.ramp(index[-1], 1, lanes)
    ir.evaluate(ir.masked_store(target, value, *index[:-1], place, mask))


def store_apart(target: Any, value: Any, at: Any, lanes: int, stride: int) -> None:
    """Store lanes to a flat buffer, ``stride`` elements apart."""
    if lanes == 1 or stride == 1:
        emit.store(target, value, [at], lanes)
        return
    from tvm.tirx.script.builder import ir

    ir.buffer_store(target, value, [ir.ramp(at, stride, lanes)])


def bits_of(buffer: Any) -> Any:
    """A flat buffer of bfloat16 as one of uint16, which masks and shuffles can move, since TIR
    computes with bfloat16 as float32; other buffers as they are."""
    if str(buffer.dtype) != "bfloat16":
        return buffer
    from tvm.tirx.script.builder import ir

    return ir.decl_buffer(buffer.shape, "uint16", data=buffer.data)


def from_bfloat16(bits: Any, lanes: int) -> Any:
    """float32 from the bits of bfloat16, which are its upper half."""
    whole = bits.astype(emit.vector_type("uint32", lanes))
    shifted = whole << emit.constant(16, "uint32", lanes)
    return emit.reinterpreted(shifted, emit.vector_type("float32", lanes))


def to_bfloat16(value: Any, lanes: int) -> Any:
    """The bits of float32 rounded to bfloat16, to the nearest and half-way to even."""
    bits = emit.reinterpreted(value, emit.vector_type("uint32", lanes))
    upper = bits >> emit.constant(16, "uint32", lanes)
    odd = upper & emit.constant(1, "uint32", lanes)
    rounded = bits + odd + emit.constant(0x7FFF, "uint32", lanes)
    if lanes == 1:
        return (rounded >> emit.constant(16, "uint32")).astype("uint16")
    # Not shifted and narrowed: where LLVM 22 makes that a part of a masked store and knows the mask
    # to have a single lane, it writes 32 bits.
    halves = emit.reinterpreted(rounded, emit.vector_type("uint16", 2 * lanes))
    return shuffles.shuffled([halves], range(1, 2 * lanes, 2))
