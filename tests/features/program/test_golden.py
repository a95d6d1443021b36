"""From programs to vectors: every number was worked out by hand from the source in ``loops``.

Numbers stand here as they are in table 2; vectors have ``log2(x + 1)`` of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.compiler.loops import on_threads, product
from tunesmith.compiler.loop_nest import loop_nest
from tunesmith.features.program import loop_context, program_features

Array = npt.NDArray[np.float64]
Row = Sequence[float]

# Columns of annotations: serial, parallel, vectorized, unrolled, vthread, blockIdx.x, .y, .z,
# threadIdx.x, .y, .z.
SERIAL = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
PARALLEL = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
UNROLLED = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
BLOCK_X = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
THREAD_X = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]


def features(module: Any) -> Mapping[Any, Array]:
    return program_features(loop_context(loop_nest(module["main"])))


def row(sizes: Row, annotation: Row, touched: Row, reuse: Row, strides: Row) -> list[float]:
    """One loop: sizes are its length, and the products of those outside and inside."""
    numbers = [*sizes, *annotation]
    for each in (touched, reuse, strides):
        numbers += [*each, 0, 0]  # there are three buffers of five
    return [*numbers, 0, 0, 0, 0, 0, 0, 0, 0]  # no estimate


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        (
            product,  # C, B, A: the result, then the largest
            [
                row([4, 1, 512], PARALLEL, [32, 128, 64], [32, 4, 8], [8, 0, 16]),
                row([8, 4, 128], SERIAL, [8, 128, 16], [32, 1, 8], [1, 1, 0]),
                row([16, 32, 16], UNROLLED, [1, 16, 16], [32, 1, 1], [0, 8, 1]),
            ],
        ),
        (
            on_threads,  # C, A, B
            [
                row([2, 1, 64], BLOCK_X, [8, 64, 8], [16, 1, 8], [4, 32, 0]),
                row([4, 2, 32], THREAD_X, [4, 32, 8], [16, 1, 4], [1, 8, 0]),
                row([8, 8, 8], SERIAL, [1, 8, 8], [16, 1, 1], [0, 1, 1]),
            ],
        ),
    ],
    ids=["on a CPU", "on a GPU"],
)
def test_loop_contexts(made: Any, rows: Sequence[Row]) -> None:
    found = features(made())["loop-context"].reshape(16, -1)
    np.testing.assert_allclose(found[:3], np.log2(np.array(rows) + 1.0), rtol=1e-12)
    assert not found[3:].any(), "there are three loops"


def stairs(*steps: tuple[int, float]) -> list[float]:
    """Twenty numbers, each beginning at the place that is given with it."""
    numbers = np.zeros(20)
    for first, value in steps:
        numbers[first:] = value
    return numbers.tolist()


# The thresholds are 2.8, 8, 22.6, 64, 181 and so on; a loop counts where it touches fewer elements.
@pytest.mark.parametrize(
    ("made", "relations"),
    [
        (
            product,
            [
                # C: the innermost loop touches 1 element, 32 times; 32 steps are outside of it.
                *(stairs((0, 32)), stairs((0, 32))),
                # B: the innermost touches 16, each once; the outer ones all 128, 4 times.
                *(stairs((2, 1), (4, 4)), stairs((2, 32))),
                # A: the middle loop touches 16 of it 8 times.
                *(stairs((2, 8)), stairs((2, 32))),
            ],
        ),
        (
            on_threads,
            [
                *(stairs((0, 16)), stairs((0, 8))),
                # A: a thread touches 8 elements, which are not fewer than 8.
                *(stairs((2, 1)), stairs((2, 8))),
                # B: all touch the same 8, which all threads together load 8 times.
                *(stairs((2, 8)), stairs((2, 8))),
            ],
        ),
    ],
    ids=["on a CPU", "on a GPU"],
)
def test_context_relations(made: Any, relations: Sequence[Row]) -> None:
    found = features(made())["context-relation"]
    assert found.shape == (5 * 2 * 20 + 8,)
    expected = np.log2(np.array(relations) + 1.0)
    np.testing.assert_allclose(found[:120].reshape(6, 20), expected, rtol=1e-12)
    assert not found[120:].any(), "there are three buffers, and no estimate"
