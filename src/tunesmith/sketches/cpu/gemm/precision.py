"""How a target sums products: by multiply-adds, or by dot products of two or four elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tunesmith.operators import ProductOperator, RecurrentOperator
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.vectors import from_bfloat16
from tunesmith.target import Target

# Four bytes 128: their exclusive or moves the bytes of a word from [-128, 127] to [0, 255].
SHIFT_WORD = -0x7F7F7F80
# TIR turns values of bfloat16 into float32 ones, so that the instruction is called from LLVM-IR.
_DOT_BFLOAT16 = """
declare <{lanes} x float> @llvm.x86.avx512bf16.dpbf16ps.{bits}(
    <{lanes} x float>, <{pairs} x bfloat>, <{pairs} x bfloat>)

define internal <{lanes} x float> @dot_bfloat16(
    <{lanes} x float> %sum, <{lanes} x i32> %left, <{lanes} x i32> %right) alwaysinline {{
  %first = bitcast <{lanes} x i32> %left to <{pairs} x bfloat>
  %second = bitcast <{lanes} x i32> %right to <{pairs} x bfloat>
  %result = call <{lanes} x float> @llvm.x86.avx512bf16.dpbf16ps.{bits}(
      <{lanes} x float> %sum, <{pairs} x bfloat> %first, <{pairs} x bfloat> %second)
  ret <{lanes} x float> %result
}}
"""


class Products(Enum):
    """What a lane does in one instruction."""

    MULTIPLY_ADD = "multiply-add"
    DOT_INT8 = "dot product of four int8 (VNNI)"
    DOT_BFLOAT16 = "dot product of two bfloat16"


# Elements in a word, where these are several.
_GROUPS = {Products.DOT_INT8: 4, Products.DOT_BFLOAT16: 2}


@dataclass(frozen=True)
class Precision:
    """The types of a product's elements and sums, and the instruction that multiplies.

    Panels hold words: ``group`` elements of type ``dtype``, contiguous along the reduction, or one
    element widened to the type of the sums, ``total``.
    """

    dtype: str
    total: str
    products: Products = Products.MULTIPLY_ADD

    @staticmethod
    def of(dtype: str, total: str, target: Target, lanes: int) -> Precision:
        """The fastest that the target has instructions for, with vectors of ``lanes`` sums."""
        known = target.instructions
        whole = lanes == target.lanes(total) and lanes >= 4
        short = lanes >= 4 and "avx512vl" in known
        if dtype == "int8" and (
            ("avx512vnni" in known and (whole or short)) or ("avxvnni" in known and 4 <= lanes <= 8)
        ):
            return Precision(dtype, total, Products.DOT_INT8)
        if dtype == "bfloat16" and "avx512bf16" in known and (whole or short):
            return Precision(dtype, total, Products.DOT_BFLOAT16)
        return Precision(dtype, total)

    @staticmethod
    def for_operator(
        operator: ProductOperator | RecurrentOperator, target: Target, lanes: int
    ) -> Precision:
        """``of`` with the operator's types."""
        return Precision.of(operator.dtype, operator.accumulate_dtype, target, lanes)

    @property
    def group(self) -> int:
        """Elements in a word."""
        return _GROUPS.get(self.products, 1)

    @property
    def word(self) -> str:
        """The type of a word."""
        return "int32" if self.group > 1 else self.total

    @property
    def compensates(self) -> bool:
        """Whether the left operand is shifted into the unsigned range.

        Sums start at minus the shift times the column sums of the right operand then.
        """
        return self.products is Products.DOT_INT8

    def words(self, depth: int) -> int:
        """How many words ``depth`` elements fill; the last one is padded with zeros."""
        return -(-depth // self.group)

    # -- emitting --------------------------------------------------------------------------------

    @contextmanager
    def instructions(self, lanes: int) -> Iterator[None]:
        """Around code with ``multiply_add`` on vectors of ``lanes`` sums."""
        if self.products is Products.DOT_BFLOAT16:
            with emit.llvm(_DOT_BFLOAT16.format(lanes=lanes, pairs=2 * lanes, bits=32 * lanes)):
                yield
        else:
            yield

    def multiply_add(self, total: Any, left: Any, right: Any, lanes: int) -> Any:
        """``total`` plus the products of the words of ``left`` and ``right``, lane by lane."""
        if self.products is Products.DOT_INT8:
            name, result = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}", f"int32x{lanes}"
            unsigned, signed = (emit.reinterpreted(v, f"int8x{4 * lanes}") for v in (left, right))
            return emit.intrinsic(name, result, total, unsigned, signed)
        if self.products is Products.DOT_BFLOAT16:
            return emit.called("dot_bfloat16", f"float32x{lanes}", total, left, right)
        return total + left * right

    def widened(self, value: Any, lanes: int = 1) -> Any:
        """An element, or a vector of them, as words of one element each."""
        if self.dtype == self.word:
            return value
        if self.dtype == "bfloat16":
            # TVM takes the bits for an integer where such a cast stands in a binding.
            bits = emit.reinterpreted(value, emit.vector_type("uint16", lanes))
            return from_bfloat16(bits, lanes)
        return value.astype(emit.vector_type(self.word, lanes))

    def shifted(self, words: Any, lanes: int = 1) -> Any:
        """Words of the left operand as ``multiply_add`` takes them."""
        return words ^ emit.constant(SHIFT_WORD, "int32", lanes) if self.compensates else words

    def joined(self, element: Callable[[int], Any], present: Callable[[int], Any] | None) -> Any:
        """A word from its elements, each given by its place; zeros where one is not ``present``."""
        if self.group == 1:
            return self.widened(element(0))
        bits = 32 // self.group
        word: Any = None
        for place in range(self.group):
            part = emit.reinterpreted(element(place), f"uint{bits}").astype("uint32")
            part = part << emit.constant(bits * place, "uint32")
            if present is not None:
                part = emit.if_then_else(present(place), part, emit.constant(0, "uint32"))
            word = part if word is None else word | part
        return emit.reinterpreted(word, "int32")

    def raw(self, elements: Any, count: int) -> Any:
        """So many elements as what shuffles can move: TIR computes with bfloat16 as float32."""
        if self.group == 1:
            return self.widened(elements, count)
        return emit.reinterpreted(elements, emit.vector_type(f"uint{32 // self.group}", count))

    def packed(self, elements: Any, count: int) -> Any:
        """A vector of raw elements as ``count`` words."""
        if self.group == 1:
            return elements
        return emit.reinterpreted(elements, emit.vector_type("int32", count))
