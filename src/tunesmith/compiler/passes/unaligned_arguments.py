"""Lets a program take unaligned arrays."""

from __future__ import annotations

from typing import Any


def unaligned_arguments() -> Any:
    """A pass that declares a function's arrays to have an alignment of one byte.

    TVM tells LLVM that they are aligned to 64 bytes, so LLVM emits aligned moves, which fault on
    other addresses. On processors with AVX unaligned moves are as fast.
    """
    from tvm.tirx import transform

    return transform.prim_func_pass(_with_unaligned, opt_level=0, name="UnalignedArguments")


def _with_unaligned(function: Any, _module: Any, _context: Any) -> Any:
    import tvm_ffi
    from tvm.tirx import PrimFunc

    return tvm_ffi.structural_mutate(function, (PrimFunc, _replace_parameters))


def _replace_parameters(function: Any, mutator: Any) -> Any:
    for parameter in function.params:
        mutator.var_remap_set(parameter, _unaligned(parameter))
    return mutator.default_mutate(function)


def _unaligned(buffer: Any) -> Any:
    """A copy of a buffer with an alignment of one byte."""
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
