"""From a program to machine code, by TVM's passes and LLVM or nvcc."""

from __future__ import annotations

from typing import Any

from tunesmith.compiler.passes.pipelines import lowering_for, pipeline_name


def compiled(program: Any, target: Any, *, checked: bool = True) -> Any:
    """TVM's executable of a module of functions for a ``tvm.target.Target``.

    Unless ``checked``, functions take their arguments as they are: the machine code that compares
    types, shapes and strides with the declared ones takes longer to compile than a small program.
    Raises what TVM raises.
    """
    import tvm

    with lowering_for(target, checked=checked):
        return tvm.compile(program, target=target, tir_pipeline=pipeline_name(program, target))
