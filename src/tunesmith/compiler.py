"""From a program to machine code, by TVM's passes and LLVM."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

# By this name TVM knows the passes below.
_PASSES_FOR_LOOPS = "tunesmith_loops"


def compiled(program: Any, target: Any) -> Any:
    """TVM's executable of a module of functions for a ``tvm.target.Target``.

    Programs without schedulable blocks, written loop by loop, skip the passes that lower blocks and
    those whose work LLVM does again: on long straight code these take half of the time of a build,
    and the machine code is as fast without. Raises what TVM raises.
    """
    import tvm

    if _has_blocks(program):
        return tvm.compile(program, target=target)
    return tvm.compile(program, target=target, tir_pipeline=_passes_for_loops())


def _has_blocks(program: Any) -> bool:
    from tvm.s_tir import SBlockRealize

    return any(isinstance(function.body, SBlockRealize) for function in program.functions.values())


@lru_cache(maxsize=1)
def _passes_for_loops() -> str:
    """The name under which TVM finds the passes, which are those of its own that loops need."""
    from tvm.ir.transform import Sequential
    from tvm.s_tir.pipeline import finalize_device_passes, finalize_host_passes
    from tvm.tirx import transform
    from tvm.tirx.compilation_pipeline import PIPELINE_MAP

    def passes() -> Any:
        lowering = [
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
        return Sequential(lowering), finalize_host_passes, finalize_device_passes

    PIPELINE_MAP[_PASSES_FOR_LOOPS] = passes
    return _PASSES_FOR_LOOPS
