"""Matrix products of packed panels, written loop by loop: the core of sketches that end in one.

A product is ``result[b, i, j] = sum over k of left[b, i, k] * right[b, k, j]``. Vectors run along
the columns ``j``; words of the left operand are spread over all lanes. Both operands are given as
functions, so they need not be matrices in memory: an ``Operand`` says what its element at
``(depth, index)`` is, and how to load a vector of neighbours where they lie side by side. The left
operand's index is a row, the right one's a column. A convolution has its weights on one side and
its patches on the other, either way round.

To use it: choose a ``Precision`` (types, and the instruction that multiplies), fill in a
``Blocking``, make a ``Plan`` of both, and within a function of ``emit`` call::

    multiply(plan, left, right, put)

``left`` and ``right`` are functions from the place in the batch to an ``Operand``;
``put(batch, row, column, sums, lanes)`` emits the write of a vector of sums of one row, with what
follows the product (bias, ReLU, a rounding). It may come more than once for the same element, with
the same sums: tiles that do not divide the result overlap. Constant right operands are laid out
apart, by ``pack(plan, Side.COLUMNS, right, panels)`` in the function ``prepare``, where ``panels``
is a buffer like ``plan.panels(Side.COLUMNS)``; ``multiply`` is given it then as ``right_panels``.
"""

from tunesmith.sketches.cpu.gemm.blocking import Blocking, Packing, Plan, Side
from tunesmith.sketches.cpu.gemm.operand import ALONG_DEPTH, ALONG_SIZE, Operand
from tunesmith.sketches.cpu.gemm.precision import Precision, Products
from tunesmith.sketches.cpu.gemm.product import Put, Source, multiply, pack

__all__ = [
    "ALONG_DEPTH",
    "ALONG_SIZE",
    "Blocking",
    "Operand",
    "Packing",
    "Plan",
    "Precision",
    "Products",
    "Put",
    "Side",
    "Source",
    "multiply",
    "pack",
]
