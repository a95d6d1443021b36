"""exp of whole vectors, in straight code that LLVM leaves as vectors.

TVM's own exp is a call of the C library for each lane. This one is a dozen vector instructions:
``exp(x) = 2**n * exp(r)`` with ``n`` the integer next to ``x / ln 2``, a polynomial for ``exp(r)``,
and ``2**n`` made of its bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunesmith.compiler.passes.vector_functions import (
    EXP_OF_FLOAT32,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
)
from tunesmith.sketches.tir import emit
from tunesmith.sketches.tir.registers import Kept


@dataclass(frozen=True)
class Exponential:
    """exp in a floating-point type, for arguments that are at most 0, times ``2**shift``.

    Arguments below ``least``, where the result is 0 for all purposes, are replaced by it. ``shift``
    keeps the results normal numbers down to there, so that tiny quotients of them round once.
    ``coefficients`` of the polynomial begin with that of ``r``. ``log2_high`` has few bits, so that
    its multiples are exact; ``log2_low`` is the rest of ln 2.
    """

    dtype: str
    word: str
    fraction_bits: int
    exponent_bias: int
    shift: int
    least: float
    log2_high: float
    log2_low: float
    coefficients: tuple[float, ...]

    def of(self, values: Sequence[Any], lanes: int, kept: Kept) -> list[Any]:
        """The scaled exp of several vectors, step by step for all of them, since the steps of one
        vector depend on each other. NaN remains NaN; -inf gives what ``least`` does."""
        from tvm import tirx

        def number(value: float) -> Any:
            return emit.constant(value, self.dtype, lanes)

        def each(name: str, step: Any, *lists: Sequence[Any]) -> list[Any]:
            made = [step(*one) for one in zip(*lists, strict=True)]
            return [kept(name, one, lanes) for one in made]

        # A select that keeps NaN, which TIR's max may not.
        low = number(self.least)
        x = each("x", lambda value: tirx.Select(value < low, low, value), values)
        # Added to 1.5 * 2**fraction_bits, a number is rounded to an integer in the lowest bits. The
        # shift and the bias are added there, too, so that it is the exponent of a float.
        whole = number(1.5 * 2**self.fraction_bits + self.exponent_bias + self.shift)
        moved = each("moved", lambda x: x * number(LOG2_E) + whole, x)
        n = [one - whole for one in moved]
        r = [n * number(-self.log2_high) + x for x, n in zip(x, n, strict=True)]
        r = each("r", lambda r, n: n * number(-self.log2_low) + r, r, n)
        power = [number(self.coefficients[-1])] * len(x)
        for coefficient in (*self.coefficients[-2::-1], 1.0):
            power = each("power", lambda p, r, c=coefficient: p * r + number(c), power, r)
        # A product, not a sum of exponents: it keeps NaN.
        return each("exp", lambda power, moved: power * self._scale(moved, lanes), power, moved)

    def _scale(self, moved: Any, lanes: int) -> Any:
        """2 to the integer in the lowest bits of a float."""
        word = emit.vector_type(self.word, lanes)
        bits = emit.reinterpreted(moved, word)
        shifted = bits << emit.constant(self.fraction_bits, self.word, lanes)
        return emit.reinterpreted(shifted, emit.vector_type(self.dtype, lanes))


# The polynomials have the least largest relative error on [-ln 2 / 2, ln 2 / 2] of those that are 1
# at 0 (Remez's algorithm): 2.6e-9 and 1.8e-17.
_OF_TYPE = {
    "float32": Exponential(
        dtype="float32",
        word="uint32",
        fraction_bits=23,
        exponent_bias=127,
        shift=64,
        least=-110.0,
        log2_high=LN2_HIGH,
        log2_low=LN2_LOW,
        coefficients=EXP_OF_FLOAT32,
    ),
    "float64": Exponential(
        dtype="float64",
        word="uint64",
        fraction_bits=52,
        exponent_bias=1023,
        shift=512,
        least=-770.0,
        log2_high=0.6931471803691238,
        log2_low=1.9082149292705877e-10,
        coefficients=(
            1.0000000000000007,
            0.5000000000000006,
            0.16666666666657226,
            0.04166666666657289,
            0.008333333337741876,
            0.0013888888932602015,
            0.00019841261457811688,
            2.4801504179449883e-05,
            2.756426888492753e-06,
            2.762643461737266e-07,
            2.2981346201457575e-08,
        ),
    ),
}


def exponential(dtype: str) -> Exponential:
    """exp in float32 or float64."""
    return _OF_TYPE[dtype]
