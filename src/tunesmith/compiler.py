"""From a program to machine code, by TVM's passes and LLVM."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tunesmith.loop_passes import has_blocks, lowering_for, passes_for_loops

# By this name TVM knows the passes for loops.
_PASSES_FOR_LOOPS = "tunesmith_loops"


def compiled(program: Any, target: Any) -> Any:
    """TVM's executable of a module of functions for a ``tvm.target.Target``.

    Programs without schedulable blocks, written loop by loop, skip the passes that lower blocks and
    those whose work LLVM does again: on long straight code these take half of the time of a build,
    and the machine code is as fast without. Raises what TVM raises.
    """
    import tvm

    with lowering_for(target):
        if has_blocks(program):
            return tvm.compile(program, target=target)
        return tvm.compile(program, target=target, tir_pipeline=_name_of_passes())


@lru_cache(maxsize=1)
def _name_of_passes() -> str:
    """The name under which TVM finds the passes for loops."""
    from tvm.s_tir.pipeline import finalize_device_passes, finalize_host_passes
    from tvm.tirx.compilation_pipeline import PIPELINE_MAP

    def passes() -> Any:
        return passes_for_loops(), finalize_host_passes, finalize_device_passes

    PIPELINE_MAP[_PASSES_FOR_LOOPS] = passes
    return _PASSES_FOR_LOOPS
