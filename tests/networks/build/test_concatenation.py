"""Concatenations as copies of runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from tunesmith.compiler.compile import compiled
from tunesmith.networks.build.concatenation import concatenation
from tunesmith.target import Target


def _check(shape: tuple[int, ...], axis: int, extents: Sequence[int], dtype: str) -> None:
    import tvm

    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(-100, 100, (*shape[:axis], extent, *shape[axis + 1 :])).astype(dtype)
        for extent in extents
    ]
    shape = (*shape[:axis], sum(extents), *shape[axis + 1 :])
    function = concatenation(shape, axis, extents, dtype)
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    result = tvm.runtime.tensor(np.full(shape, 101, dtype))
    compiled(module, Target().to_tvm())["main"](*map(tvm.runtime.tensor, arrays), result)
    np.testing.assert_array_equal(result.numpy(), np.concatenate(arrays, axis))


@examples(25)
@given(
    outer=st.sampled_from((1, 2, 9)),
    inner=st.sampled_from((1, 7, 16, 35)),
    extents=st.lists(st.sampled_from((1, 3, 8, 40)), min_size=1, max_size=4),
    dtype=st.sampled_from(("float32", "float64", "float16", "int64", "int8")),
)
def test_inputs_are_one_after_the_other(
    outer: int, inner: int, extents: list[int], dtype: str
) -> None:
    _check((outer, 0, inner), 1, extents, dtype)


@pytest.mark.parametrize(
    ("shape", "axis", "extents"),
    [
        ((1, 0, 17, 17), 1, (192, 3, 320)),  # fewer rows than tasks, and one shorter than they
        ((700, 0, 5), 1, (16, 1)),  # more rows than tasks, and not a multiple of them
        ((0, 4000), 0, (7, 6)),
    ],
)
def test_large_ones_are_shared_among_the_cores(
    shape: tuple[int, ...], axis: int, extents: tuple[int, ...]
) -> None:
    whole = (*shape[:axis], sum(extents), *shape[axis + 1 :])
    assert "T.parallel" in str(concatenation(whole, axis, extents, "float32"))
    _check(shape, axis, extents, "float32")


def test_small_ones_stay_on_one_core() -> None:
    assert "T.parallel" not in str(concatenation((1, 8, 49), 1, (3, 5), "float32"))
