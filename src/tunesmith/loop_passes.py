"""How programs are lowered: alike for measuring and for kernels, and without blocks for loops."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
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


def lowering_for(target: Any) -> AbstractContextManager[Any]:
    """TVM's context in which programs are lowered for a ``tvm.target.Target``."""
    from tvm.ir.transform import PassContext

    if target.kind.name != "cuda":
        return nullcontext()
    # Only such copies become asynchronous as the program says.
    context: AbstractContextManager[Any] = PassContext(config={"tirx.use_async_copy": True})
    return context
