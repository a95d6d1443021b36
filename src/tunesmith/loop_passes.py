"""TVM's passes for programs that are written loop by loop, without schedulable blocks."""

from __future__ import annotations

from typing import Any


def has_blocks(program: Any) -> bool:
    """Whether a function of a module has blocks, which only TVM's own passes can lower."""
    from tvm.s_tir import SBlockRealize

    return any(isinstance(function.body, SBlockRealize) for function in program.functions.values())


def passes_for_loops() -> Any:
    """Those of TVM's passes that loops need, in its order.

    Left out are those that lower blocks, and what LLVM and nvcc do again. They add no barriers: a
    program for a GPU has its own.
    """
    from tvm.ir.transform import Sequential
    from tvm.tirx import transform

    return Sequential(
        [
            transform.FlattenBuffer(),
            transform.BF16ComputeLegalize(),
            transform.VectorizeLoop(),
            transform.StorageRewrite(),
            transform.UnrollLoop(),
            transform.StmtSimplify(),
            transform.VerifyMemory(),
            transform.AnnotateEntryFunc(),
            transform.SplitHostDevice(),
            transform.MakePackedAPI(),
            transform.BF16StorageLegalize(),
        ]
    )
