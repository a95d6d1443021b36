"""From a program to machine code, by TVM's passes and LLVM, and by nvcc for a GPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tunesmith.cuda.compiler import compile_cuda, nvcc
from tunesmith.cuda.lowering import compiling_by
from tunesmith.cuda.runtime import load_runtime
from tunesmith.errors import TunesmithError

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


def compiled_for_gpu(program: Any, target: Any, arch: str) -> Any:
    """The same for a GPU with an instruction set such as ``sm_90``: with its machine code inside.

    nvcc compiles it as it does for measuring. Raises what TVM raises, ``TunesmithError`` where nvcc
    fails, ``MissingDependencyError`` without it, and like ``load_runtime``.
    """
    import tvm

    nvcc()
    load_runtime()
    failures: list[TunesmithError] = []

    def compile(source: str) -> bytes:
        try:
            return compile_cuda(source, arch).code
        except TunesmithError as error:
            failures.append(error)  # which on its way through TVM would become another one
            raise

    try:
        with compiling_by(compile):
            return tvm.compile(program, target=target)
    except Exception as error:
        if failures:
            raise failures[0] from error
        raise


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
