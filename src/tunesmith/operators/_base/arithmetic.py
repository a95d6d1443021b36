"""The arithmetic that elementwise formulas are written in, in NumPy and in TVM's expressions."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np


class Arithmetic(Protocol):
    """What a formula may use besides ``+ - * /``.

    Values are arrays, or TVM's expressions, which may be vectors. Plain numbers must be made with
    ``number``, since an expression's type decides what they are.
    """

    def number(self, value: float) -> Any: ...
    def maximum(self, left: Any, right: Any) -> Any: ...
    def minimum(self, left: Any, right: Any) -> Any: ...
    def exp(self, value: Any) -> Any: ...
    def tanh(self, value: Any) -> Any: ...
    def erf(self, value: Any) -> Any: ...
    def sigmoid(self, value: Any) -> Any: ...
    def sqrt(self, value: Any) -> Any: ...
    def absolute(self, value: Any) -> Any: ...
    def power(self, value: Any, exponent: Any) -> Any: ...


class NumpyArithmetic:
    """On arrays of float64."""

    def number(self, value: float) -> Any:
        return value

    def maximum(self, left: Any, right: Any) -> Any:
        return np.maximum(left, right)

    def minimum(self, left: Any, right: Any) -> Any:
        return np.minimum(left, right)

    def exp(self, value: Any) -> Any:
        with np.errstate(over="ignore"):
            return np.exp(value)

    def tanh(self, value: Any) -> Any:
        return np.tanh(value)

    def erf(self, value: Any) -> Any:
        return np.vectorize(math.erf, otypes=[np.float64])(value)

    def sigmoid(self, value: Any) -> Any:
        return 0.5 * (1 + np.tanh(0.5 * value))  # never overflows

    def sqrt(self, value: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return np.sqrt(value)

    def absolute(self, value: Any) -> Any:
        return np.abs(value)

    def power(self, value: Any, exponent: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return np.power(value, exponent)


class TvmArithmetic:
    """On TVM's expressions of a type, such as ``float32`` or ``float32x8``."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype

    def number(self, value: float) -> Any:
        from tvm import tirx

        element, _, lanes = self._dtype.partition("x")
        constant = tirx.const(value, element)
        return tirx.Broadcast(constant, int(lanes)) if lanes else constant

    def maximum(self, left: Any, right: Any) -> Any:
        from tvm import tirx

        return tirx.Max(left, right)

    def minimum(self, left: Any, right: Any) -> Any:
        from tvm import tirx

        return tirx.Min(left, right)

    def exp(self, value: Any) -> Any:
        from tvm import tirx

        return tirx.exp(value)

    def tanh(self, value: Any) -> Any:
        from tvm import tirx

        return tirx.tanh(value)

    def erf(self, value: Any) -> Any:
        from tvm import tirx

        return tirx.erf(value)

    def sigmoid(self, value: Any) -> Any:
        from tvm import tirx

        return tirx.sigmoid(value)

    def sqrt(self, value: Any) -> Any:
        from tvm import tirx

        return tirx.sqrt(value)

    def absolute(self, value: Any) -> Any:
        from tvm import tirx

        return tirx.abs(value)

    def power(self, value: Any, exponent: Any) -> Any:
        from tvm import tirx

        return tirx.power(value, exponent)
