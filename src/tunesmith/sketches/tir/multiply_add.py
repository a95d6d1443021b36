"""Multiply-adds that leave the sum in its register.

For ``sum + scalar * vector`` LLVM chooses an instruction that overwrites the broadcast scalar with
the new sum where nothing else reads the scalar. So sums move from register to register, and a tile
that fills all sixteen of AVX2 spills them: 2x7 sums of one vector each took 1.75 times as long
(Cascade Lake). With AVX-512 the scalar is a memory operand, and Arm's instruction adds to its sum.
"""

from __future__ import annotations

from typing import Any

from tunesmith.operators import element_bits
from tunesmith.sketches.tir import emit
from tunesmith.target import Target

_NAME = "tunesmith_multiply_add"
# LLVM's name of an element, and the last letter of the instruction's.
_TYPES = {"float32": ("float", "s"), "float64": ("double", "d")}


def moves_sums(target: Target) -> bool:
    """Whether LLVM moves sums like that on a target."""
    return "fma" in target.instructions and "avx512f" not in target.instructions


def is_register(dtype: str, lanes: int) -> bool:
    """Whether a vector fills a register that ``multiply_add`` has an instruction for."""
    return dtype in _TYPES and lanes * element_bits(dtype) in (128, 256)


def multiply_add_function(dtype: str, lanes: int) -> str:
    """The LLVM-IR of the function that ``multiply_add`` calls, for ``emit.llvm``."""
    element, letter = _TYPES[dtype]
    vector = f"<{lanes} x {element}>"
    return f"""
define internal {vector} @{_NAME}({vector} %sum, {vector} %left, {vector} %right) alwaysinline {{
  %new = call {vector} asm "vfmadd231p{letter} $2, $1, $0", "=x,x,x,0"(
      {vector} %left, {vector} %right, {vector} %sum) nounwind memory(none)
  ret {vector} %new
}}
"""


def multiply_add(total: Any, left: Any, right: Any, dtype: str, lanes: int) -> Any:
    """``total + left * right``, lane by lane, in the register of ``total``."""
    return emit.called(_NAME, emit.vector_type(dtype, lanes), total, left, right)
