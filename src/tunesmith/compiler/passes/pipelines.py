"""Which passes lower a program: alike for measuring and for kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tunesmith.compiler.passes.last_turn import last_turns
from tunesmith.compiler.passes.unaligned_arguments import unaligned_arguments
from tunesmith.compiler.passes.unconditional_loads import unconditional_loads
from tunesmith.compiler.passes.whole_warps import whole_warps

Pipeline = tuple[Any, Callable[[], Any], Callable[[], Any]]
"""The pass that lowers a module, and what makes those that finish its functions of the processor
and of the GPU."""


def pipeline_name(program: Any, target: Any) -> str:
    """The name by which TVM finds the passes for a module on a ``tvm.target.Target``."""
    from tvm.tirx.compilation_pipeline import register_tir_pipeline

    blocks, kind = _has_blocks(program), target.kind.name
    name = f"tunesmith_{'blocks' if blocks else 'loops'}_{kind}"
    register_tir_pipeline(name, lambda: _pipeline(blocks=blocks, kind=kind))
    return name


def pipeline_of(program: Any, target: Any) -> Pipeline:
    """The passes themselves."""
    return _pipeline(blocks=_has_blocks(program), kind=target.kind.name)


def lowering_for(target: Any, *, checked: bool = True) -> AbstractContextManager[Any]:
    """TVM's context in which programs are lowered for a ``tvm.target.Target``.

    Unless ``checked``, what they are called with is not compared with what they declare.
    """
    from tvm.ir.transform import PassContext

    config = {} if checked else {"tirx.disable_assert": True}
    if target.kind.name == "cuda":
        # Only such copies become asynchronous as the program says.
        config["tirx.use_async_copy"] = True
    current = PassContext.current()
    context: AbstractContextManager[Any] = PassContext(
        opt_level=current.opt_level,
        instruments=list(current.instruments or ()),
        config={**current.config, **config},
    )
    return context if config else nullcontext()


def _has_blocks(program: Any) -> bool:
    """Whether a function of a module has blocks, which only TVM's own passes can lower."""
    from tvm.s_tir import SBlockRealize

    return any(isinstance(function.body, SBlockRealize) for function in program.functions.values())


def _pipeline(*, blocks: bool, kind: str) -> Pipeline:
    from tvm.ir.transform import Sequential
    from tvm.s_tir.pipeline import default_s_tir_pipeline

    lower, finish_host, finish_device = default_s_tir_pipeline()
    if not blocks:
        lower = _passes_for_loops()
    elif kind == "cuda":
        lower = _passes_for_blocks_on_gpus()
    if kind != "cuda":
        return Sequential([unaligned_arguments(), lower]), finish_host, finish_device
    passes = [unconditional_loads(), whole_warps()]
    return lower, finish_host, lambda: Sequential([*passes, finish_device()])


def _passes_for_loops() -> Any:
    """Those of TVM's passes that loops need, in its order.

    Left out are those that lower blocks, and what LLVM and nvcc do again: on long straight code
    these take half of the time of a build, and the machine code is as fast without. They add no
    barriers: a program for a GPU has its own.
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


def _passes_for_blocks_on_gpus() -> Any:
    """TVM's passes in its order, but ``LastTurns`` in place of ``LoopPartition``, and without those
    that concern other devices than NVIDIA's GPUs, or options of TVM's that we do not set."""
    from tvm.ir.transform import Sequential
    from tvm.s_tir import transform as blocks
    from tvm.tirx import transform

    return Sequential(
        [
            blocks.CanonicalizeLoop(),
            blocks.LowerCrossThreadReduction(),
            blocks.LowerInitBlock(),
            blocks.PlanAndUpdateBufferAllocationLocation(),
            blocks.ConvertBlocksToOpaque(),
            blocks.LiftThreadBinding(),
            blocks.ManifestSharedMemoryLocalStage(),
            blocks.CompactBufferAllocation(),
            blocks.UnifyThreadBinding(),
            blocks.StmtSimplify(),
            blocks.InjectSoftwarePipeline(),
            blocks.LowerOpaqueBlock(),
            transform.FlattenBuffer(),
            transform.BF16ComputeLegalize(),
            transform.NarrowDataType(32),
            last_turns(),
            transform.StmtSimplify(),
            transform.VectorizeLoop(),
            blocks.InjectVirtualThread(),
            transform.StorageRewrite(),
            blocks.HoistIfThenElse(),
            transform.UnrollLoop(),
            blocks.RenormalizeSplitPattern(),
            transform.StmtSimplify(),
            transform.RemoveNoOp(),
            blocks.RewriteUnsafeSelect(),
            transform.CommonSubexprElim(),
            transform.VerifyMemory(),
            transform.AnnotateEntryFunc(),
            blocks.ThreadSync("shared"),
            blocks.ThreadSync("shared.dyn"),
            blocks.ThreadSync("warp"),
            blocks.LowerThreadAllreduce(),
            blocks.InjectPTXAsyncCopy(),
            blocks.MergeSharedMemoryAllocations(),
            transform.SplitHostDevice(),
            transform.MakePackedAPI(),
            transform.BF16StorageLegalize(),
        ]
    )
