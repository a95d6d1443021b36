"""Compiles a program to machine code with TVM's passes and LLVM or nvcc."""

from __future__ import annotations

from typing import Any

from tunesmith.compiler.passes.pipelines import lowering_for, pipeline_name


def compiled(program: Any, target: Any, *, checked: bool = True) -> Any:
    """TVM's executable of a module, for a ``tvm.target.Target``. Raises what TVM raises.

    Unless ``checked``, functions do not check the types, shapes and strides of their arguments. For
    a small program these checks take longer to compile than the rest.
    """
    import tvm

    with lowering_for(target, checked=checked):
        return tvm.compile(program, target=target, tir_pipeline=pipeline_name(program, target))
