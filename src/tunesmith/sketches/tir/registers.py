"""Vectors in registers, for programs written loop by loop (see ``emit``)."""

from __future__ import annotations

from typing import Any

from tunesmith.operators import element_bits
from tunesmith.sketches.tir import emit


class Registers:
    """A tile of vectors that LLVM keeps in registers, as long as Python unrolls all uses."""

    def __init__(self, name: str, vectors: int, lanes: int, dtype: str) -> None:
        self.lanes = lanes
        self._vectors = [_on_stack(name, lanes, dtype) for _ in range(vectors)]

    def __getitem__(self, vector: int) -> Any:
        return emit.load(self._vectors[vector], [0], self.lanes)

    def __setitem__(self, vector: int, value: Any) -> None:
        emit.store(self._vectors[vector], value, [0], self.lanes)


class Kept:
    """Variables for values that others are computed from, opaque to TVM.

    TVM substitutes variables to simplify expressions. A chain of values that are used twice each
    becomes expressions that double with each one, and TVM does not round as floats do. It leaves
    loads from memory alone, and LLVM makes registers of this memory again. To be made where the
    values are used, or outside.
    """

    def __init__(self, dtype: str, lanes: int) -> None:
        widths = emit.powers_up_to(lanes)
        self._memory = {width: Registers("kept", 1, width, dtype) for width in widths}

    def __call__(self, name: str, value: Any, lanes: int) -> Any:
        """A variable for a vector of ``lanes``, at most those of the widest."""
        memory = self._memory[lanes]
        memory[0] = value
        return emit.bind(name, memory[0])


def _on_stack(name: str, lanes: int, dtype: str) -> Any:
    """A vector's memory on the stack, of which LLVM always makes a register.

    TVM would allocate a buffer on the heap, however small. Vectors there are in registers only in
    loops that LLVM knows to write no other memory: a prefetch makes it store all of them each step.
    """
    from tvm.script.ir_builder import IRBuilder
    from tvm.tirx.script.builder import ir

    bits = lanes * element_bits(dtype)
    # In words of 64 bits, which is what TVM has for the shapes of arrays.
    words = ir.tvm_stack_alloca("shape", -(-bits // 64))
    memory = type(words)(words.op, words.args, ret_ty=ir.handle(dtype, "local").ty)
    pointer = emit.bind(f"{name}_memory", memory)
    vector = ir.decl_buffer((lanes,), dtype, data=pointer, scope="local")
    IRBuilder.name(name, vector)
    return vector
