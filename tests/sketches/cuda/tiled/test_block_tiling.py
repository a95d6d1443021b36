"""What a tiling takes of a block, against what the generated code declares."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sketches.cuda.declarations import declared_shared_bytes
from tunesmith.cuda.lowering import cuda_code
from tunesmith.errors import InstantiationError
from tunesmith.operators import (
    Operator,
    batch_matmul,
    conv2d,
    conv2d_transpose,
    depthwise_conv2d,
    matmul,
)
from tunesmith.sketches.cuda.tiled.block_tiling import Tiling
from tunesmith.sketches.cuda.tiled.sketch import CudaTiled
from tunesmith.sketches.tir.loop_nest import main_loop_nest
from tunesmith.target import Target

TARGET = Target("cuda", arch="sm_90")


@pytest.mark.parametrize(
    "operator",
    [
        matmul(m=32, n=24, k=16),
        batch_matmul(b=2, m=8, n=6, k=10, transpose="TN"),
        conv2d(ci=8, h=14, w=14, co=12, kernel=3, stride=2, padding=1),
        matmul(m=8, n=8, k=8, dtype="int8"),
        conv2d_transpose(ci=4, h=6, w=6, co=8, kernel=4, stride=2, padding=1),
        conv2d(ci=8, h=8, w=8, co=16, kernel=3, padding=1, groups=4),
        depthwise_conv2d(c=8, h=8, w=8, kernel=3, multiplier=2),
        matmul(m=8, n=8, k=8, dtype="float64"),
    ],
    ids=lambda operator: operator.name,
)
def test_shared_memory_and_threads_are_those_of_the_code(operator: Operator) -> None:
    """What is counted before anything is compiled is what TVM declares in the end."""
    sketch, checked = CudaTiled(), 0
    for config in sketch.space(operator, TARGET).sample_many(40, np.random.default_rng(2)):
        try:
            code = cuda_code(sketch.program(operator, TARGET, config), TARGET.to_tvm())
        except InstantiationError:
            continue
        nest = sketch._nest(operator)
        tiling = sketch._tiling(nest, config)
        use = tiling.use(operator, nest)
        (launch,) = code.functions["main"].launches
        declared = declared_shared_bytes(code.source) + launch.shared_bytes
        # The totals of slices that do not come out even may take less.
        assert declared == use.shared_bytes or (tiling.slices > 1 and declared < use.shared_bytes)
        assert launch.block == use.threads
        assert launch.grid == use.grid
        checked += 1
        if checked == 3:
            break
    assert checked == 3


def test_a_window_needs_what_its_ends_reach() -> None:
    """Four columns of a window of three, two apart: 3 * 2 + 3 columns of data."""
    operator = conv2d(ci=4, h=15, w=17, co=4, kernel=3, stride=2)
    nest = main_loop_nest(operator)
    assert nest is not None
    data = nest.inputs[0]
    tiling = Tiling(
        spatial={"n": (1,) * 4, "f": (4, 1, 1, 1), "y": (7, 1, 1, 1), "x": (2, 1, 4, 1)},
        reduction={"rc": (2, 2), "ry": (3, 1), "rx": (1, 3)},
        places=dict.fromkeys("nfyx", "x"),
        staged=frozenset({data.buffer}),
    )
    assert tiling.shared_elements(data) == 2 * 1 * 9
