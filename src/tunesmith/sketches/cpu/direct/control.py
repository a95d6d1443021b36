"""Loops over ranges known at run time only, tasks, conditions, and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tunesmith.operators import Argument, ProductOperator, element_bits
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.weights import program_with_weights


@contextmanager
def span(start: Any, stop: Any, name: str) -> Iterator[Any]:
    """A loop from ``start`` to before ``stop``; yields its variable, or the only step."""
    from tvm.script.ir_builder import IRBuilder
    from tvm.tirx.script.builder import ir

    if isinstance(start, int) and isinstance(stop, int) and stop - start == 1:
        yield start
        return
    with ir.serial(start, stop) as variable:
        IRBuilder.name(name, variable)
        yield variable


@contextmanager
def memory(name: str, elements: int, dtype: str) -> Iterator[Any]:
    """Flat memory around its use.

    It is allocated by a call of TVM's runtime, as that of buffers is in the end. For buffers a pass
    of TVM's (``CompactBufferAllocation``) computes the region of each access, to allocate just
    their union: for straight code of hundreds of accesses that takes seconds.
    """
    from tvm import tirx
    from tvm.script.ir_builder import IRBuilder
    from tvm.tirx.script.builder import ir

    size = elements * element_bits(dtype) // 8
    cpu = [tirx.IntImm("int32", 1), tirx.IntImm("int32", 0)]
    asked = [tirx.IntImm("uint64", size), tirx.IntImm("int32", 0), tirx.IntImm("int32", 8)]
    got = tirx.call_intrin("handle", "tirx.TVMBackendAllocWorkspace", *cpu, *asked)
    pointer = emit.bind(f"{name}_memory", got)
    view = ir.decl_buffer((elements,), dtype, data=pointer)
    IRBuilder.name(name, view)
    yield view
    ir.evaluate(tirx.call_intrin("int32", "tirx.TVMBackendFreeWorkspace", *cpu, pointer))


def within(value: Any, stop: int) -> Any:
    """Whether a number is one of ``range(stop)``."""
    from tvm import tirx

    return tirx.all(value >= 0, value < stop)


def outside(value: Any, stop: int) -> Any:
    """Whether it is none of them."""
    from tvm import tirx

    return tirx.any(value < 0, value >= stop)


def parts_of_task(task: Any, channels: int, others: int, order: str) -> tuple[Any, Any, Any]:
    """The image of a task, its part of the channels, and its part of the pixels.

    Tasks that follow each other run on one core: in the order "weights" they share channels, else
    pixels.
    """
    image = emit.bind("image_number", task // (channels * others))
    if order == "weights":
        return image, task // others % channels, task % others
    return image, task % channels, task // channels % others


def tiles_of_task(task: Any, tiles: int, tasks: int, name: str) -> tuple[Any, Any]:
    """The first tile of a task and the one behind its last: tasks differ by one tile at most."""
    if tasks == 1:
        return 0, tiles
    if tasks == tiles:
        return task, task + 1
    return (
        emit.bind(f"first_{name}", task * tiles // tasks),
        emit.bind(f"last_{name}", (task + 1) * tiles // tasks),
    )


def program_of_panels(
    operator: ProductOperator,
    packed: Argument,
    pack: Callable[[Any, Any], None],
    main: Callable[[list[Any]], None],
) -> Any:
    """The module: ``main``, and ``prepare`` where weights are constant.

    All buffers are flat views. ``pack`` fills the ``packed`` weights from the operator's; ``main``
    is given the operator's arguments, the packed weights among them, and the result.
    """

    def body(buffers: Sequence[Any]) -> None:
        names = ("image", "panels", *(f"extra{i}" for i in range(len(buffers) - 3)), "result")
        main(list(map(emit.flat, buffers, names)))

    return program_with_weights(
        operator,
        packed,
        lambda plain, filled: pack(emit.flat(plain, "weights"), emit.flat(filled, "panels")),
        body,
    )
