"""Matrix products of packed panels, written loop by loop, for sketches that compute a product.

A product is ``result[b, i, j] = sum over k of left[b, i, k] * right[b, k, j]``. Vectors run along
the columns ``j``; words of the left operand are broadcast to all lanes. Operands need not be
matrices in memory: an ``Operand`` has a function that loads its element at ``(depth, index)``, and
one that loads a vector where elements are contiguous. The index is a row of the left operand or a
column of the right one. In a convolution one operand is the weights and the other the patches.

To use it: choose a ``Precision`` (types, and the instruction that multiplies), fill in a
``Blocking``, make a ``Plan`` of both, and within a function of ``emit`` call::

    multiply(plan, left, right, put)

``left`` and ``right`` are functions from the place in the batch to an ``Operand``;
``put(batch, row, column, sums, lanes)`` emits the store of a vector of sums of one row, with the
epilogue (bias, ReLU, rounding). Tiles that do not divide the result overlap, so the same element
may be stored twice, with the same sum. Constant right operands are packed in the function
``prepare``, by ``pack(plan, Side.COLUMNS, right, panels)``, where ``panels`` is a buffer like
``plan.panels(Side.COLUMNS)``; ``multiply`` then gets it as ``right_panels``.
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
