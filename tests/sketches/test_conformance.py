"""The sketches for every operator keep the contract of sketches; the others' tests are theirs."""

from __future__ import annotations

from tunesmith.operators import (
    adaptive_pool2d,
    batch_matmul,
    conv2d,
    conv2d_transpose,
    dense,
    depthwise_conv2d,
    matmul,
    pool2d,
    reduce,
)
from tunesmith.sketches.cpu.tiled.sketch import CpuTiled
from tunesmith.testing.sketch import SketchConformance


class TestCpuTiled(SketchConformance):
    sketch = CpuTiled()
    samples = 1
    operators = (
        conv2d(ci=16, h=14, w=14, co=32, kernel=3, padding=1, bias=True, relu=True),
        conv2d(ci=8, h=15, w=17, co=24, kernel=3, stride=2, layout="NHWC", residual=True),
        depthwise_conv2d(c=16, h=14, w=14, kernel=3, padding=1),
        conv2d_transpose(ci=8, h=7, w=7, co=16, kernel=4, stride=2, padding=1),
        pool2d(c=16, h=14, w=14, kernel=3, stride=2, padding=1, kind="avg"),
        pool2d(c=16, h=13, w=14, kernel=3, stride=2, padding=(0, 0, 1, 1), ceil_mode=True),
        adaptive_pool2d(c=4, h=9, w=10, output_size=(4, 3)),
        reduce(outer=3, n=20, inner=8),
        batch_matmul(b=3, m=16, n=20, k=12, transpose="NT"),
        matmul(m=32, n=48, k=24, dtype="int8"),
        dense(m=1, n=67, k=31),
        conv2d(ci=8, h=9, w=9, co=16, kernel=3, padding=1, bias=True, constant_weights=True),
        matmul(m=15, n=32, k=21, dtype="bfloat16", constant_weights=True),
        dense(m=4, n=24, k=36, dtype="int8", residual=True, constant_weights=True),
    )
