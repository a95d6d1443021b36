"""The element types of operators, and the types of their accumulators and results."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

FLOAT_TYPES = ("float32", "float64", "float16", "bfloat16")
ALL_TYPES = (*FLOAT_TYPES, "int8")

# Types whose sums are kept in a wider one.
ACCUMULATE = {"float16": "float32", "bfloat16": "float32", "int8": "int32"}
_SIGNIFICAND_BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


@cache
def element_bits(dtype: str) -> int:
    """How many bits an element of a type takes, such as 16 for ``bfloat16``."""
    if dtype == "bool":
        return 8  # the name has no digits; a byte each in NumPy, PyTorch and TVM
    return int("".join(filter(str.isdigit, dtype)))


def is_float(dtype: str) -> bool:
    """Whether arithmetic in ``dtype`` rounds."""
    return dtype in _SIGNIFICAND_BITS


def unit_roundoff(dtype: str) -> float:
    """The largest relative error of rounding to ``dtype``; 0 for integers."""
    return 2.0 ** -_SIGNIFICAND_BITS[dtype] if is_float(dtype) else 0.0


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The NumPy type named ``dtype``."""
    if dtype == "bfloat16":
        import ml_dtypes

        extension: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return extension
    return np.dtype(dtype)


def cast(array: npt.NDArray[np.float64], dtype: str) -> npt.NDArray[np.generic]:
    """``array`` rounded to ``dtype``; integers wrap around as the machine's do."""
    if is_float(dtype):
        return array.astype(numpy_dtype(dtype))
    return array.astype(np.int64).astype(numpy_dtype(dtype))
