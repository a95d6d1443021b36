"""What a tile of warpgroups takes, against what the generated code asks for."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tunesmith.cuda.lowering import cuda_code
from tunesmith.errors import InstantiationError
from tunesmith.operators import ProductOperator, batch_matmul, conv2d, matmul
from tunesmith.sketches.cuda.mma.product_sketch import ProductSketch
from tunesmith.sketches.cuda.wgmma.conv2d_sketch import CudaWgmmaConv2d
from tunesmith.sketches.cuda.wgmma.gemm_sketch import CudaWgmmaGemm
from tunesmith.sketches.cuda.wgmma.operand_tile import ALIGNMENT
from tunesmith.sketches.cuda.wgmma.warpgroup_tile import WarpgroupTile, WarpgroupUse
from tunesmith.target import Target

TARGET = Target("cuda", arch="sm_90")


@pytest.mark.parametrize(
    ("sketch", "operator"),
    [
        (CudaWgmmaGemm(), matmul(m=140, n=72, k=33, dtype="float16")),
        (CudaWgmmaGemm(), batch_matmul(b=2, m=64, n=48, k=24, transpose="TN", dtype="bfloat16")),
        (
            CudaWgmmaConv2d(),
            conv2d(ci=8, h=9, w=9, co=16, kernel=3, padding=1, dtype="float16"),
        ),
    ],
    ids=lambda given: given.name,
)
def test_shared_memory_and_threads_are_those_of_the_launch(
    sketch: ProductSketch[Any], operator: ProductOperator
) -> None:
    product = sketch.product(operator)
    checked = 0
    for config in sketch.space(operator, TARGET).sample_many(8, np.random.default_rng(2)):
        try:
            code = cuda_code(sketch.program(operator, TARGET, config), TARGET.to_tvm())
        except InstantiationError:
            continue
        settings: dict[str, Any] = dict(config)
        counted = WarpgroupUse(WarpgroupTile.of(**settings), product)
        launch, *adding = code.functions["main"].launches
        assert launch.shared_bytes == counted.shared_bytes
        assert launch.block == (128 * settings["warpgroups"], 1, 1)
        assert launch.grid == (counted.blocks, 1, 1)
        assert len(adding) == (settings["splits"] > 1)
        declared = re.findall(r"__shared__ (.+)", code.source)
        assert len(declared) == 1
        assert declared[0].startswith(f"__align__({ALIGNMENT})")
        tiles = (counted.left_tile, counted.right_tile)
        assert [tile.elements * 2 % ALIGNMENT for tile in tiles] == [0, 0]
        checked += 1
    assert checked >= 3
