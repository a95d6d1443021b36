"""The GPU sketch of elementwise chains."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tunesmith.errors import UsageError
from tunesmith.operators import Elementwise, elementwise, matmul
from tunesmith.sketches.cuda.elementwise import CudaElementwise
from tunesmith.space import Config, Ordinal
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaElementwise()


class TestCudaElementwise(SketchConformance):
    sketch = SKETCH
    on = TARGET
    operators = (
        elementwise(inner=37, post_ops="relu"),
        elementwise(n=2, c=3, inner=48, post_ops="scale+shift+silu+add"),
        elementwise(n=5, c=36, inner=1, post_ops="shift+gelu+multiply"),
        elementwise(n=2, c=3, inner=52, post_ops="scale+divide+rsqrt", dtype="bfloat16"),
        elementwise(inner=500, post_ops="exp+maximum+tanh", dtype="float16"),
    )


def test_vectors_lie_in_one_channel() -> None:
    operator = elementwise(c=8, inner=49, post_ops="relu")
    assert _widths(operator) == (1, 2, 4)
    assert _widths(replace(operator, post_ops="scale")) == (1,)
    assert _widths(replace(operator, inner=50, post_ops="scale")) == (1, 2)
    assert _widths(replace(operator, inner=1, post_ops="scale")) == (1, 2, 4)


def _widths(operator: Elementwise) -> tuple[int, ...]:
    space = SKETCH.space(operator, TARGET)
    (vector,) = [one for one in space.parameters if one.name == "vector"]
    assert isinstance(vector, Ordinal)
    return tuple(int(str(width)) for width in vector.values)


def test_estimates_prefer_wide_vectors_and_enough_threads() -> None:
    operator = elementwise(inner=2**24, post_ops="add+relu")

    def seconds(threads: int, vector: int, steps: int) -> float:
        config = Config({"threads": threads, "vector": vector, "steps": steps})
        found = SKETCH.estimate(operator, TARGET, config)
        assert found is not None
        return found

    assert seconds(256, 4, 1) < seconds(256, 1, 1)
    assert seconds(256, 4, 1) < seconds(32, 1, 8)


def test_what_it_cannot_do_it_leaves_to_others() -> None:
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), TARGET)
    assert not SKETCH.supports(elementwise(inner=4, post_ops="relu"), Target())
    with pytest.raises(UsageError, match=r"\Asketch cuda_elementwise is for elementwise"):
        SKETCH.space(matmul(m=4, n=4, k=4), TARGET)
