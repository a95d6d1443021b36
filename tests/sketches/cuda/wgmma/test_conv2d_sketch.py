"""Convolutions by warpgroups: their results, and who gets them."""

from __future__ import annotations

import pytest

from tests.compiled import needs_nvcc, resources
from tunesmith.operators import conv2d, matmul
from tunesmith.sketches import sketches_for
from tunesmith.sketches.cuda.wgmma.conv2d_sketch import CudaWgmmaConv2d
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance

TARGET = Target("cuda", arch="sm_90")
SKETCH = CudaWgmmaConv2d()


class TestCudaWgmmaConv2d(SketchConformance):
    sketch = SKETCH
    on = TARGET
    samples = 1
    operators = (
        conv2d(ci=8, h=9, w=11, co=20, kernel=3, padding=1, dtype="float16", bias=True, relu=True),
        conv2d(n=2, ci=24, h=8, w=6, co=72, kernel=1, dtype="float16", bias=True, residual=True),
        conv2d(
            n=2, ci=16, h=9, w=8, co=24, kernel=3, padding=1, dilation=2, layout="NHWC",
            dtype="bfloat16", bias=True,
        ),
    )  # fmt: skip


@needs_nvcc
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_nvcc_compiles_it_without_spilling(layout: str) -> None:
    operator = conv2d(
        n=4, ci=64, h=28, w=28, co=96, kernel=3, padding=1, layout=layout, dtype="float16"
    )
    found = resources(SKETCH, operator, "sm_90")
    assert {(one.spill_stores, one.spill_loads) for one in found} == {(0, 0)}


def test_it_is_for_one_group_of_16_bits_on_hopper() -> None:
    layer = conv2d(ci=8, h=8, w=8, co=8, kernel=3, dtype="bfloat16")
    assert [it.name for it in sketches_for(layer, TARGET)] == [
        "cuda_tiled",
        "cuda_conv2d_direct",
        "cuda_tensor_conv2d",
        "cuda_wgmma_conv2d",
    ]
    assert not SKETCH.supports(layer, Target("cuda", arch="sm_100"))
    assert not SKETCH.supports(conv2d(ci=8, h=8, w=8, co=8, kernel=3), TARGET)
    grouped = conv2d(ci=8, h=8, w=8, co=8, kernel=3, groups=2, dtype="float16")
    assert not SKETCH.supports(grouped, TARGET)
    assert not SKETCH.supports(matmul(m=8, n=8, k=8, dtype="float16"), TARGET)
