"""Kernels for tests, and arrays that lie in memory as wanted."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tunesmith.kernel.kernel import Kernel
from tunesmith.operators import Operator, matmul
from tunesmith.sketches import sketch_for
from tunesmith.target import Target, instructions

SQUARE = matmul(m=16, n=16, k=16)
BIASED = matmul(m=6, n=10, k=8, bias=True)


@cache
def kernel_of(operator: Operator, target: Target | None = None) -> Kernel:
    """The default of an operator, built once for all tests."""
    target = target or Target()
    sketch = sketch_for(operator, target)
    config = sketch.default(operator, target)
    return Kernel.build(operator, target, sketch.program(operator, target, config), config)


def inputs_of(operator: Operator, seed: int = 0) -> list[Any]:
    return operator.make_inputs(seed)


def assert_right(operator: Operator, result: Any, inputs: list[Any]) -> None:
    relative, absolute = operator.tolerance
    expected = operator.reference(*inputs)
    assert result.shape == expected.shape
    np.testing.assert_allclose(
        np.asarray(result).astype(np.float64), expected.astype(np.float64), relative, absolute
    )


def aligned(shape: tuple[int, ...], dtype: Any = np.float32, offset: int = 0) -> Any:
    """An array of NaN that starts ``offset`` bytes after a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    array = memory[start : start + size].view(dtype).reshape(shape)
    array[...] = np.nan
    return array


def misaligned(array: Any) -> Any:
    """A copy that starts between two multiples of 64 bytes."""
    moved = aligned(array.shape, array.dtype, offset=4)
    moved[...] = array
    return moved


def foreign_processor() -> str:
    """A processor with instructions that this one lacks."""
    for name in ("sapphirerapids", "znver5", "diamondrapids"):
        if instructions(name) - instructions(Target().processor):
            return name
    pytest.skip("this processor has all instructions that LLVM knows")


DATA, WEIGHT = inputs_of(SQUARE)
