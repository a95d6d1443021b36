"""Small programs whose loops can be read by eye."""

# ruff: noqa: N803, N805, N812
# TVM reads the source: names and annotations are its own.
# mypy: ignore-errors

import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from tunesmith.operators import Argument
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Registers


def product() -> tvm.IRModule:
    """The product of a 4 x 16 and a 16 x 8 matrix."""

    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(
            A: T.Buffer((4, 16), "float32"),
            B: T.Buffer((16, 8), "float32"),
            C: T.Buffer((4, 8), "float32"),
        ):
            for i in T.parallel(4):
                for j in T.serial(8):
                    for k in T.unroll(16):
                        C[i, j] = C[i, j] + A[i, k] * B[k, j]

    return Module


def vectorised() -> tvm.IRModule:
    """Two vectors of 16 a step."""

    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
            for i in T.serial(4):
                B[i * 32 : i * 32 + 16] = A[T.Ramp(i * 32, 1, 16)]
                B[i * 32 + 16 : i * 32 + 32] = A[T.Ramp(i * 32 + 16, 1, 16)]

    return Module


def overlapping() -> tvm.IRModule:
    """Tiles of 8 of a length of 20."""

    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
            for tile in T.serial(3):
                start: T.let[T.int32] = T.min(tile * 8, 12)
                for i in T.serial(8):
                    B[start + i] = A[start + i]

    return Module


def through_a_view() -> tvm.IRModule:
    """A matrix that is written as a vector."""

    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((4, 8), "float32")):
            flat = A.view(32)
            for i in T.serial(4):
                flat[i * 8] = A[i, 1]

    return Module


def through_two_shapes() -> tvm.IRModule:
    """A matrix that is read as it is and as two others, of which one is a vector."""

    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
            flat = A.view(32)
            wide = A.view(2, 16)
            for i in T.serial(4):
                B[i] = A[i, 1] + flat[i * 8] + wide[i // 2, i % 2 * 8] + flat[i * 8 + 2]

    return Module


def in_registers() -> tvm.IRModule:
    """Three vectors of 4 that are written, and read again."""
    parameters = [Argument("A", (12,), "float32")]
    with emit.module() as made, emit.function("main", parameters) as (a,):
        sums = Registers("sums", vectors=3, lanes=4, dtype="float32")
        with emit.serial(2, "i"):
            for vector in range(3):
                sums[vector] = emit.constant(0.0, "float32", 4)
            emit.store(a, sums[0], [0], 4)
    return made[0]


def guarded() -> tvm.IRModule:
    """An image of 8 with a border of 1."""

    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((8,), "float32"), B: T.Buffer((9,), "float32")):
            for i in T.serial(9):
                B[i] = A[T.if_then_else(i >= 1, i - 1, 0)]

    return Module


def on_threads() -> tvm.IRModule:
    """The product of an 8 x 8 matrix and a vector, an element a thread."""

    @I.ir_module
    class Module:
        @T.prim_func(s_tir=True)
        def main(
            A: T.Buffer((8, 8), "float32"),
            B: T.Buffer((8,), "float32"),
            C: T.Buffer((8,), "float32"),
        ):
            for block in T.thread_binding(2, thread="blockIdx.x"):
                for thread in T.thread_binding(4, thread="threadIdx.x"):
                    for k in T.serial(8):
                        C[block * 4 + thread] = (
                            C[block * 4 + thread] + A[block * 4 + thread, k] * B[k]
                        )

    return Module
