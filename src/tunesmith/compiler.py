"""From a program to machine code, by TVM's passes and LLVM or nvcc."""

from __future__ import annotations

from typing import Any

from tunesmith.passes.pipelines import lowering_for, pipeline_name


def compiled(program: Any, target: Any) -> Any:
    """TVM's executable of a module of functions for a ``tvm.target.Target``.

    Raises what TVM raises.
    """
    import tvm

    with lowering_for(target):
        return tvm.compile(program, target=target, tir_pipeline=pipeline_name(program, target))
