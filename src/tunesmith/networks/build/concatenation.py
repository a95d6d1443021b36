"""Concatenations as copies of runs: TVM's own asks for each element which input it is from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from tunesmith.operators import Argument, element_bits
from tunesmith.sketches.cpu.rows.blocking import Sweep
from tunesmith.sketches.tir import emit

_TYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "uint8")
_VECTOR_BITS = 512
_UNROLL = 4
# Starting the other cores takes as long as copying so many elements; a task copies so many.
_WORTH_ALL_CORES = 32768
_ELEMENTS_PER_TASK = 4096
_MOST_TASKS = 64
# TVM's number for functions that may not be fused.
_OPAQUE = 8

SCHEDULED = "tunesmith.scheduled"
"""The attribute of functions that need no further schedule."""


def concatenate(builder: Any, call: Any) -> Any:
    """The legalisation of ``relax.concat`` for CPUs."""
    from tvm import relax

    inputs, dtype = call.args[0], str(call.ty.dtype)
    if not isinstance(inputs, relax.Tuple) or dtype not in _TYPES:
        return call.op.get_attr("FLegalize")(builder, call)
    fields = list(inputs.fields)
    shape = [int(extent) for extent in call.ty.shape]
    axis = int(call.attrs.axis or 0) % len(shape)
    extents = [int(field.ty.shape[axis]) for field in fields]
    function = concatenation(tuple(shape), axis, extents, dtype)
    variable = builder.add_func(function, "concatenate")
    return relax.call_tir(variable, fields, relax.TensorType(shape, dtype))


def concatenation(shape: tuple[int, ...], axis: int, extents: Sequence[int], dtype: str) -> Any:
    """The function that copies tensors of these ``extents`` along an axis into one of ``shape``."""
    inputs = [
        Argument(f"input{number}", (*shape[:axis], extent, *shape[axis + 1 :]), dtype)
        for number, extent in enumerate(extents)
    ]
    copies = _copies(shape, axis, extents)
    elements = math.prod(shape)
    tasks = min(_MOST_TASKS, elements // _ELEMENTS_PER_TASK) if elements >= _WORTH_ALL_CORES else 1
    with (
        emit.module() as made,
        emit.function("concatenate", [*inputs, Argument("output", shape, dtype)]) as buffers,
        emit.parallel(tasks, "task") if tasks > 1 else nullcontext(0) as task,
    ):
        *sources, target = map(emit.flat, buffers)
        for copy, source in zip(copies, sources, strict=True):
            _copy(copy, source, target, task, tasks)
    function = made[0]["concatenate"].without_attr("global_symbol")
    return function.with_attrs({"op_pattern": _OPAQUE, SCHEDULED: True})


@dataclass(frozen=True)
class _Copy:
    """The runs of an input: ``rows`` of ``length`` elements, which begin in the result at
    ``offset`` and then ``step`` elements apart."""

    rows: int
    length: int
    offset: int
    step: int


def _copies(shape: tuple[int, ...], axis: int, extents: Sequence[int]) -> list[_Copy]:
    rows, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    step, offset, found = shape[axis] * inner, 0, []
    for extent in extents:
        found.append(_Copy(rows, extent * inner, offset, step))
        offset += extent * inner
    return found


def _copy(copy: _Copy, source: Any, target: Any, task: Any, tasks: int) -> None:
    """A task's part of an input: whole rows, or a part of each."""
    lanes = min(_VECTOR_BITS // element_bits(str(target.dtype)), emit.power_of_two(copy.length))
    rows, length = copy.rows, copy.length
    if rows >= tasks:
        rows = emit.tile_count(rows, tasks)
    else:
        length = min(length, emit.tile_count(emit.tile_count(length, tasks), lanes) * lanes)
    first, begin = _start(task, rows, copy.rows), _start(task, length, copy.length)
    with emit.serial(rows, "row") as number:
        row = emit.bind("row", first + number)
        here = emit.bind("here", row * copy.length + begin)
        there = emit.bind("there", row * copy.step + copy.offset + begin)

        def moved(starts: Sequence[Any], _fresh: int) -> None:
            for start in starts:
                value = emit.load(source, [here + start], lanes)
                emit.store(target, value, [there + start], lanes)

        Sweep(length, lanes, min(_UNROLL, max(1, length // lanes))).each(moved)


def _start(task: Any, size: int, extent: int) -> Any:
    """Where a task's part begins. The last ones are early enough to be whole, and copy again what
    others do: there may be more tasks than parts."""
    return 0 if size == extent else emit.minimum(task * size, extent - size)
