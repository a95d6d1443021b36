"""Arguments that start anywhere in memory, as people's arrays do."""

from __future__ import annotations

from typing import Any


def unaligned_arguments() -> Any:
    """The pass: a function's arrays need not start at whole vectors.

    TVM lets LLVM take for granted that they start at multiples of 64 bytes. The code then has
    instructions that fail elsewhere. On processors with AVX those that do not fail are as fast.
    """
    from tvm.tirx import transform

    return transform.prim_func_pass(_with_unaligned, opt_level=0, name="UnalignedArguments")


def _with_unaligned(function: Any, _module: Any, _context: Any) -> Any:
    import tvm_ffi
    from tvm.tirx import PrimFunc

    return tvm_ffi.structural_mutate(function, (PrimFunc, _replace_parameters))


def _replace_parameters(function: Any, mutator: Any) -> Any:
    for parameter in function.params:
        mutator.var_remap_set(parameter, _anywhere(parameter))
    return mutator.default_mutate(function)


def _anywhere(buffer: Any) -> Any:
    """A buffer like another one, of which no more is known than that it starts at some byte."""
    from tvm.tirx import decl_buffer

    kind = buffer.ty
    return decl_buffer(
        kind.shape,
        kind.dtype,
        buffer.name,
        strides=kind.strides,
        elem_offset=kind.elem_offset,
        scope=kind.storage_scope,
        data_alignment=1,
        offset_factor=kind.offset_factor,
        layout=kind.layout,
    )
