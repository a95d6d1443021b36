"""The passes that lower a program, the same for measurements and for kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tunesmith.compiler.passes.loop_peeling import peel_last_iterations
from tunesmith.compiler.passes.unaligned_arguments import unaligned_arguments
from tunesmith.compiler.passes.unconditional_loads import unconditional_loads
from tunesmith.compiler.passes.vector_functions import register_vector_functions
from tunesmith.compiler.passes.whole_warps import whole_warps

Pipeline = tuple[Any, Callable[[], Any], Callable[[], Any]]
"""The pass that lowers a module, and factories of the passes that finalize its host and its device
functions."""


def pipeline_name(program: Any, target: Any) -> str:
    """Registers with TVM the passes for a module on a ``tvm.target.Target``; returns their name."""
    from tvm.tirx.compilation_pipeline import register_tir_pipeline

    blocks, kind = has_blocks(program), target.kind.name
    name = f"tunesmith_{'blocks' if blocks else 'loops'}_{kind}"
    register_tir_pipeline(name, lambda: _pipeline(blocks=blocks, kind=kind))
    return name


def tvms_pipeline_name() -> str:
    """Registers with TVM the passes for what TVM's rules schedule for a GPU; returns their name.

    These are TVM's own, as its schedules may need any of them, and ours for functions on the GPU.
    """
    from tvm.s_tir.pipeline import default_s_tir_pipeline
    from tvm.tirx.compilation_pipeline import register_tir_pipeline

    def pipeline() -> Pipeline:
        lower, finish_host, finish_device = default_s_tir_pipeline()
        return lower, finish_host, _with_our_passes(finish_device)

    register_tir_pipeline("tunesmith_tvm_cuda", pipeline)
    return "tunesmith_tvm_cuda"


def pipeline_of(program: Any, target: Any) -> Pipeline:
    """The passes for a module on a ``tvm.target.Target``."""
    return _pipeline(blocks=has_blocks(program), kind=target.kind.name)


def lowering_for(target: Any, *, checked: bool = True) -> AbstractContextManager[Any]:
    """TVM's ``PassContext`` for lowering programs for a ``tvm.target.Target``.

    Unless ``checked``, the code does not check its arguments.
    """
    from tvm.ir.transform import PassContext

    config = {} if checked else {"tirx.disable_assert": True}
    if target.kind.name == "cuda":
        # Makes only those copies asynchronous that the program annotates.
        config["tirx.use_async_copy"] = True
    current = PassContext.current()
    context: AbstractContextManager[Any] = PassContext(
        opt_level=current.opt_level,
        instruments=list(current.instruments or ()),
        config={**current.config, **config},
    )
    return context if config else nullcontext()


def has_blocks(program: Any) -> bool:
    """Whether a function of a module has blocks, which need TVM's passes for blocks."""
    from tvm.s_tir import SBlockRealize

    return any(isinstance(function.body, SBlockRealize) for function in program.functions.values())


def plain_loops(program: Any) -> Any:
    """A module without blocks, as far as it must be lowered for that: to see what its loops do."""
    from tvm.ir.transform import Sequential
    from tvm.s_tir import transform as blocks

    if not has_blocks(program):
        return program
    return Sequential(
        [
            *_passes_to_opaque_blocks(),
            blocks.UnifyThreadBinding(),
            blocks.CompactBufferAllocation(),
            blocks.LowerOpaqueBlock(),
        ]
    )(program)


def _passes_to_opaque_blocks() -> list[Any]:
    """TVM's first passes for blocks: after them these no longer say what they compute."""
    from tvm.s_tir import transform as blocks

    return [
        blocks.CanonicalizeLoop(),
        blocks.LowerCrossThreadReduction(),
        blocks.LowerInitBlock(),
        blocks.PlanAndUpdateBufferAllocationLocation(),
        blocks.ConvertBlocksToOpaque(),
    ]


def _pipeline(*, blocks: bool, kind: str) -> Pipeline:
    from tvm.ir.transform import Sequential
    from tvm.s_tir.pipeline import default_s_tir_pipeline

    lower, finish_host, finish_device = default_s_tir_pipeline()
    if not blocks:
        lower = _passes_for_loops()
    elif kind == "cuda":
        lower = _passes_for_blocks_on_gpus()
    if kind != "cuda":
        register_vector_functions()
        return Sequential([unaligned_arguments(), lower]), finish_host, finish_device
    return lower, finish_host, _with_our_passes(finish_device)


def _with_our_passes(finish_device: Callable[[], Any]) -> Callable[[], Any]:
    """The passes that finalize functions on the GPU, after ours."""
    from tvm.ir.transform import Sequential

    passes = [unconditional_loads(), whole_warps()]
    return lambda: Sequential([*passes, finish_device()])


def _passes_for_loops() -> Any:
    """TVM's passes for programs that are plain loops, in TVM's order.

    Without the passes that lower blocks, and those whose work LLVM and nvcc repeat: on long
    straight-line code these take half of the build time, and the machine code is no faster. None
    of them adds barriers: GPU programs contain their own.
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
    """TVM's passes in TVM's order, with ``LastTurns`` instead of ``LoopPartition``, and without
    those for devices other than NVIDIA's GPUs and for TVM options that we do not set.

    ``CommonSubexprElim`` comes late: ``ThreadSync`` fails where an index is made of vectors that
    have names.
    """
    from tvm.ir.transform import Sequential
    from tvm.s_tir import transform as blocks
    from tvm.tirx import transform

    return Sequential(
        [
            *_passes_to_opaque_blocks(),
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
            peel_last_iterations(),
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
            transform.VerifyMemory(),
            transform.AnnotateEntryFunc(),
            blocks.ThreadSync("shared"),
            blocks.ThreadSync("shared.dyn"),
            blocks.ThreadSync("warp"),
            transform.CommonSubexprElim(),
            blocks.LowerThreadAllreduce(),
            blocks.InjectPTXAsyncCopy(),
            blocks.MergeSharedMemoryAllocations(),
            transform.SplitHostDevice(),
            transform.MakePackedAPI(),
            transform.BF16StorageLegalize(),
        ]
    )
