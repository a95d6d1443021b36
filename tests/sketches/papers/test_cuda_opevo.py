"""The OpEvo paper's spaces on a GPU: their sizes, their programs, and who gets them."""

from __future__ import annotations

import re

import pytest

from tunesmith.cuda.lowering import cuda_source
from tunesmith.operators import Operator, batch_matmul, conv2d, matmul
from tunesmith.sketches import Sketch, sketches_for
from tunesmith.sketches.papers.cuda_batch_matmul_opevo import CudaBatchMatmulOpEvo
from tunesmith.sketches.papers.cuda_conv2d_opevo import CudaConv2dOpEvo
from tunesmith.sketches.papers.cuda_matmul_opevo import CudaMatmulOpEvo
from tunesmith.space import Config
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

TARGET = Target("cuda", arch="sm_90")


class TestCudaMatmulOpEvo(SketchConformance):
    sketch = CudaMatmulOpEvo()
    samples = 1
    on = TARGET
    operators = (
        matmul(m=32, n=24, k=18),
        matmul(m=7, n=13, k=1, bias=True, relu=True),
        matmul(m=8, n=34, k=16, dtype="int8"),
    )


class TestCudaBatchMatmulOpEvo(SketchConformance):
    sketch = CudaBatchMatmulOpEvo()
    samples = 1
    on = TARGET
    operators = (
        batch_matmul(b=6, m=8, n=10, k=12),
        batch_matmul(b=4, m=6, n=8, k=9, transpose="TN"),
        batch_matmul(b=3, m=5, n=16, k=8, transpose="NT"),
    )


class TestCudaConv2dOpEvo(SketchConformance):
    sketch = CudaConv2dOpEvo()
    samples = 1
    on = TARGET
    operators = (
        conv2d(n=2, ci=3, h=19, w=19, co=8, kernel=5, stride=4),
        conv2d(ci=6, h=9, w=9, co=12, kernel=3, padding=1),
    )


@pytest.mark.parametrize(
    ("sketch", "operator", "configs"),
    [
        (CudaMatmulOpEvo(), matmul(m=512, n=1024, k=1024), 4_152_720),
        (CudaMatmulOpEvo(), matmul(m=512, n=4096, k=1024), 6_606_600),
        (CudaMatmulOpEvo(), matmul(m=512, n=1024, k=4096), 5_725_720),
        (CudaBatchMatmulOpEvo(), batch_matmul(b=960, m=128, n=64, k=128), 10_160_640),
        (
            CudaBatchMatmulOpEvo(),
            batch_matmul(b=960, m=128, n=64, k=128, transpose="TN"),
            10_160_640,
        ),
        (
            CudaBatchMatmulOpEvo(),
            batch_matmul(b=960, m=128, n=128, k=64, transpose="NT"),
            11_289_600,
        ),
        (
            CudaConv2dOpEvo(),
            conv2d(n=512, ci=3, h=227, w=227, co=64, kernel=11, stride=4),
            1_032_192,
        ),
        (
            CudaConv2dOpEvo(),
            conv2d(n=512, ci=64, h=27, w=27, co=192, kernel=5, padding=2),
            22_579_200,
        ),
    ],
    ids=["MM1", "MM2", "MM3", "BMM1", "BMM2", "BMM3", "C1", "C2"],
)
def test_the_spaces_are_as_large_as_the_papers(
    sketch: Sketch, operator: Operator, configs: int
) -> None:
    """Of the operators of its section 5."""
    space = sketch.space(operator, TARGET)
    assert space.size == configs == space.cartesian_size
    space.check(sketch.default(operator, TARGET))


def test_they_take_part_only_where_they_are_named() -> None:
    names = {it.name for it in sketches_for(matmul(m=64, n=64, k=64), TARGET)}
    assert names == {"cuda_tiled"}


def test_the_last_part_of_the_sum_is_read_into_registers_at_once() -> None:
    """Two steps of four rows of data and of two columns of weights: 8 and 4 numbers a thread."""
    operator = matmul(m=32, n=16, k=8)
    config = Config({"tile_m": (1, 1, 8, 4), "tile_n": (1, 1, 8, 2), "tile_k": (2, 2, 2)})
    sketch = CudaMatmulOpEvo()
    source = cuda_source(sketch.program(operator, TARGET, config), TARGET.to_tvm())
    local = sorted(int(size) for size in re.findall(r"float \w+local\w*\[(\d+)\]", source))
    assert local == [4, 8, 8]  # of the sums there are 4 x 2
    assert mismatch(sketch, operator, config, TARGET) is None
