"""The generic sketch for GPUs: its programs for operators of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from tunesmith.errors import InstantiationError
from tunesmith.operators import (
    Operator,
    batch_matmul,
    conv2d,
    conv2d_transpose,
    dense,
    depthwise_conv2d,
    matmul,
    pool2d,
    softmax,
)
from tunesmith.sketches import sketches_for
from tunesmith.sketches.cuda.limits import LIMITS
from tunesmith.sketches.cuda_tiled import CudaTiled
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaTiled()
OPERATORS = (
    conv2d(ci=8, h=9, w=11, co=6, kernel=3, stride=2, layout="NHWC", residual=True),
    depthwise_conv2d(c=6, h=7, w=7, kernel=3, padding=1),
    conv2d_transpose(ci=4, h=5, w=5, co=6, kernel=4, stride=2, padding=1),
    pool2d(c=4, h=9, w=9, kernel=3, stride=2, padding=1, kind="avg"),
    batch_matmul(b=3, m=8, n=10, k=12, transpose="NT"),
    matmul(m=16, n=24, k=8, dtype="int8"),
    dense(m=1, n=67, k=31, bias=True, relu=True),
)


class TestCudaTiled(SketchConformance):
    sketch = SKETCH
    target = TARGET
    operators = OPERATORS


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_configs_keep_the_limits_that_are_products_of_factors(operator: Operator) -> None:
    """What is left to find out while a program is made is the shared memory."""
    space = SKETCH.space(operator, TARGET)
    for config in space.sample_many(50, np.random.default_rng(1)):
        try:
            SKETCH.program(operator, TARGET, config)
        except InstantiationError as error:
            assert "shared memory" in str(error)


def test_the_limits_leave_a_block_of_the_largest_size() -> None:
    space = SKETCH.space(matmul(m=1024, n=1024, k=64), TARGET)
    threads = []
    for config in space.sample_many(500, np.random.default_rng(0)):
        rows, columns = config["tile_i"], config["tile_j"]
        assert isinstance(rows, tuple)
        assert isinstance(columns, tuple)
        threads.append(int(rows[2]) * int(columns[2]))
    assert max(threads) == LIMITS.threads


def test_it_is_for_one_reduction_on_a_gpu() -> None:
    assert not SKETCH.supports(softmax(m=4, n=4), TARGET)
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), Target())
    assert [it.name for it in sketches_for(pool2d(c=4, h=8, w=8, kernel=2), TARGET)] == [
        "cuda_tiled"
    ]
