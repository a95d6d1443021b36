"""Plain kernels, written as people write them for any input, whose outputs must stay the same.

Each is given what a library's interface has: strides, borders, ranges, missing values. The tests
are of one use of it. What that use does not need, evolution may find out; compilers cannot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tunesmith.bench.gevo.case import Case, Tested
from tunesmith.evolve.llvm.kernel import NumbaKernel
from tunesmith.evolve.search.nsga2 import SearchSettings

# Without Python's complaint about a division by zero.
_OPTIONS = {"error_model": "numpy"}
_SEARCH = SearchSettings(population=24)


def saxpy(n: int, a: Any, x: Any, x_step: int, y: Any, y_step: int) -> None:  # noqa: PLR0917
    """``y += a * x`` with steps between elements, as in BLAS."""
    i = 0
    j = 0
    for _ in range(n):
        y[j] += a * x[i]
        i += x_step
        j += y_step


def stencil(image: Any, out: Any) -> None:
    """The mean of five points; beyond a border stands what stands at it."""
    rows, columns = image.shape
    for i in range(rows):
        up = max(i - 1, 0)
        down = min(i + 1, rows - 1)
        for j in range(columns):
            left = max(j - 1, 0)
            right = min(j + 1, columns - 1)
            total = image[i, j] + image[up, j] + image[down, j] + image[i, left] + image[i, right]
            out[i, j] = total / np.float32(5.0)


def reduction(x: Any, out: Any) -> None:
    """The largest element; NaN where there is one."""
    largest = x[0]
    for i in range(x.shape[0]):
        value = x[i]
        if value != value:  # noqa: PLR0124
            largest = value
        if value > largest:  # noqa: PLR1730 # Numba's max has rules of its own for NaN
            largest = value
    out[0] = largest


def histogram(values: Any, counts: Any, low: Any, high: Any) -> None:
    """How many values are in each of so many ranges; those outside count at the ends."""
    bins = counts.shape[0]
    scale = bins / (high - low)
    for i in range(values.shape[0]):
        place = int((values[i] - low) * scale)
        place = max(place, 0)
        place = min(place, bins - 1)
        counts[place] += 1


def _saxpy() -> Tested:
    def case(size: int, seed: int) -> tuple[Any, ...]:
        chance = np.random.default_rng(seed)
        x, y = (chance.random(size, dtype=np.float32) for _ in range(2))
        return size, np.float32(1.5), x, 1, y, 1

    return Tested(
        NumbaKernel(saxpy, options=_OPTIONS), [case(20_000, 0), case(777, 1)], [case(15_001, 2)]
    )


def _stencil() -> Tested:
    def case(rows: int, columns: int, seed: int) -> tuple[Any, ...]:
        image = np.random.default_rng(seed).random((rows, columns), dtype=np.float32)
        return image, np.zeros_like(image)

    return Tested(
        NumbaKernel(stencil, options=_OPTIONS),
        [case(128, 128, 0), case(7, 33, 1)],
        [case(99, 65, 2)],
    )


def _reduction() -> Tested:
    def case(size: int, seed: int) -> tuple[Any, ...]:
        x = np.random.default_rng(seed).standard_normal(size, dtype=np.float32)
        return x, np.zeros(1, np.float32)

    return Tested(
        NumbaKernel(reduction, options=_OPTIONS), [case(30_000, 0), case(501, 1)], [case(9999, 2)]
    )


def _histogram() -> Tested:
    def case(size: int, bins: int, seed: int) -> tuple[Any, ...]:
        values = np.random.default_rng(seed).random(size)
        return values, np.zeros(bins, np.int64), 0.0, 1.0

    return Tested(
        NumbaKernel(histogram, options=_OPTIONS),
        [case(30_000, 64, 0), case(500, 10, 1)],
        [case(9000, 100, 2)],
    )


CASES = tuple(
    Case(
        name,
        title,
        about,
        make,
        None,
        "1.05 times as fast as -O3, or an account that nothing was found",
        search=_SEARCH,
    )
    for name, title, about, make in (
        (
            "saxpy",
            "saxpy, exactly",
            "BLAS's interface with steps between elements; the tests have steps of 1.",
            _saxpy,
        ),
        (
            "stencil",
            "A stencil of five points, exactly",
            "Borders are handled for every point.",
            _stencil,
        ),
        (
            "reduction",
            "The largest element, exactly",
            "It looks for NaN, which the tests do not have.",
            _reduction,
        ),
        (
            "histogram",
            "A histogram, exactly",
            "It looks for values outside of the range, which the tests do not have.",
            _histogram,
        ),
    )
)
