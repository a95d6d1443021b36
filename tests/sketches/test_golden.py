"""The scheduled programs of a few telling configs, word for word.

``pytest tests/sketches --update-golden`` writes them anew; the diff shows what a change does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tunesmith.operators import (
    Operator,
    adaptive_pool2d,
    conv2d,
    conv2d_transpose,
    dense,
    depthwise_conv2d,
    elementwise,
    embedding,
    gru,
    lstm,
    matmul,
    pool2d,
    reduce,
    softmax,
    workload,
)
from tunesmith.sketches import sketch_for
from tunesmith.target import Target

FOLDER = Path(__file__).parent / "golden"
POST_OPS = Path(__file__).parent / "golden_post_ops"
# By name, for the length of its vectors is part of a program.
TARGET = Target(mcpu="x86-64-v4", cores=2)
GPU = Target("cuda", arch="sm_90")

# Each with what it changes of the default.
PROGRAMS: dict[str, tuple[Operator, dict[str, Any]]] = {
    "conv2d_default": (workload("resnet18.C8"), {}),
    # Packed weights, seven columns of two vectors of channels in registers.
    "conv2d_blocked": (
        workload("resnet18.C8"),
        {
            "tile_f": (8, 1, 32),
            "tile_y": (14, 1, 1),
            "tile_x": (1, 2, 7),
            "tile_rc": (64, 2),
            "order_outer": ("x", "y", "f"),
            "order_middle": ("x", "y", "f"),
            "parallel": 1,
            "vectorize": "f",
            "pack_weight": True,
        },
    ),
    # Blocked layouts of both inputs, padding and sums in the outer tile, an epilogue.
    "conv2d_padded_in_tile": (
        conv2d(ci=16, h=14, w=14, co=32, kernel=3, padding=1, bias=True, relu=True),
        {
            "tile_f": (2, 1, 16),
            "tile_y": (2, 7, 1),
            "tile_x": (1, 2, 7),
            "tile_rc": (4, 4),
            "tile_ry": (1, 3),
            "tile_rx": (3, 1),
            "order_outer": ("y", "f", "x"),
            "order_middle": ("x", "y", "f"),
            "order_reduction": ("rx", "rc", "ry"),
            "parallel": 2,
            "accumulate": "tile",
            "vectorize": "f",
            "unroll": 64,
            "pad": "tile",
            "pack_pad": True,
            "pack_weight": True,
        },
    ),
    "matmul_packed": (
        matmul(m=64, n=96, k=128),
        {
            "tile_i": (4, 2, 8),
            "tile_j": (3, 1, 32),
            "tile_k": (32, 4),
            "order_outer": ("j", "i"),
            "parallel": 2,
            "unroll": 64,
            "pack_data": True,
            "pack_weight": True,
        },
    ),
    # The weights are packed in a function of their own.
    "matmul_constant_weights": (
        matmul(m=64, n=96, k=128, constant_weights=True),
        {
            "tile_i": (4, 2, 8),
            "tile_j": (3, 1, 32),
            "parallel": 2,
            "pack_data": True,
            "pack_weight": True,
        },
    ),
    # A register tile of 4 rows and 2 vectors, 4 steps of the sum, tiles of 8x64 sums.
    "matmul_424": (
        matmul(m=64, n=128, k=64),
        {"tile_m": (4, 2, 2, 4), "tile_k": (16, 4), "tile_n": (2, 1, 2, 32)},
    ),
    # Two rows of three vectors and one that overlaps at a time, in three passes.
    "softmax_passes": (
        softmax(m=12, n=60),
        {"rows": 2, "unroll": 2, "method": "passes", "tasks": 1},
    ),
    # Two vectors and one that overlaps for each channel, whose factor is in all lanes.
    "elementwise_of_channels": (
        elementwise(c=6, inner=37, post_ops="scale+silu+add"),
        {"unroll": 2, "tasks": 2},
    ),
    # A tile of one row and two vectors; the three rows of a window become one first.
    "max_pool_strided": (
        pool2d(c=4, h=9, w=66, kernel=3, stride=2, padding=1),
        {"vectors": 2, "edges": "masked", "shared": False},
    ),
    # The last window of each axis has taps behind the image, which do not count.
    "mean_pool_in_ceil_mode": (
        pool2d(c=4, h=8, w=32, kernel=3, stride=2, kind="avg", ceil_mode=True),
        {"edges": "masked", "shared": False},
    ),
    # Each row of windows becomes a row in memory, whose columns are divided then.
    "adaptive_pool": (adaptive_pool2d(c=4, h=7, w=40, output_size=(3, 2)), {"vectors": 2}),
    # Sums of rows, sixteen rows at once.
    "reduce_rows": (reduce(outer=20, n=40), {}),
    # Sums of columns, two vectors side by side in two turns; two parts, which a second pass adds.
    "reduce_columns": (
        reduce(n=64, inner=36),
        {"vectors": 2, "unroll": 2, "parts": 2, "shared": True},
    ),
    # Code for each edge, of which the first row is left out; every second column by shuffles.
    "depthwise_strided": (
        depthwise_conv2d(c=4, h=3, w=40, kernel=3, stride=2, padding=1, bias=True, relu=True),
        {"rows": 1, "edges": "peeled"},
    ),
    # Vectors along the channels, and one code for all tiles.
    "depthwise_channels": (
        depthwise_conv2d(c=40, h=6, w=5, kernel=3, padding=1, layout="NHWC"),
        {"rows": 2, "bands": 2, "edges": "masked"},
    ),
    # Stride 2: two planes; panels of the patches block by block, sums of windows under masks.
    "im2col_strided": (
        conv2d(ci=16, h=10, w=12, co=24, kernel=3, stride=2, constant_weights=True, bias=True),
        {"rows": 4, "vectors": 1, "pack_patches": "block"},
    ),
    # Rows of four vectors and one that overlaps, the next row prefetched, on all cores.
    "embedding_shared": (embedding(n=9, rows=50, width=70), {"unroll": 2, "tasks": 2}),
    # A step: all gates of a vector of units at once; the last vector overlaps the one before.
    "lstm_one_step": (lstm(units=20, constant_weights=True), {"unroll": 1, "chains": 1}),
    # Steps from the last one on: states twice, in turn; two sequences in registers.
    "gru_backwards": (gru(steps=3, b=2, units=16, reverse=True), {"unroll": 1, "chains": 1}),
}
# Whose sketch is not the first one that supports the operator.
SKETCHES = {
    "matmul_424": "cpu_gemm_424",
    "depthwise_strided": "cpu_depthwise",
    "depthwise_channels": "cpu_depthwise",
    "im2col_strided": "cpu_im2col",
    "max_pool_strided": "cpu_pool",
    "mean_pool_in_ceil_mode": "cpu_pool",
    "adaptive_pool": "cpu_adaptive_pool",
    "reduce_rows": "cpu_reduce",
    "reduce_columns": "cpu_reduce",
}


# On a GPU, each with its default config.
ON_GPUS: dict[str, tuple[Operator, str]] = {
    "cuda_elementwise": (elementwise(c=6, inner=37, post_ops="scale+silu+add"), "cuda_elementwise"),
    "cuda_embedding": (embedding(n=9, rows=50, width=70), "cuda_embedding"),
    "cuda_lstm": (lstm(units=20, constant_weights=True), "cuda_recurrent"),
    "cuda_gru": (gru(steps=3, b=2, units=16, reverse=True), "cuda_recurrent"),
    "cuda_softmax": (softmax(m=12, n=60), "cuda_rows"),
    "cuda_reduce": (reduce(outer=20, n=40), "cuda_tiled"),
    "cuda_adaptive_pool": (adaptive_pool2d(c=4, h=7, w=40, output_size=(3, 2)), "cuda_tiled"),
}

# A factor of each channel, a function, and a tensor of the result's shape.
_CHAIN = "scale+silu+multiply"
_IMAGE: dict[str, Any] = {"ci": 3, "h": 4, "w": 8, "co": 16, "bias": True, "post_ops": _CHAIN}
_SAME: dict[str, Any] = {"kernel": 3, "padding": 1, "constant_weights": True, **_IMAGE}

# Post-ops behind the sums of each sketch's default program.
WITH_POST_OPS: dict[str, Operator] = {
    "cpu_tiled": conv2d(kernel=3, padding=1, **_IMAGE),
    "cpu_gemm": dense(m=3, n=20, k=5, bias=True, post_ops=_CHAIN),
    "cpu_im2col": conv2d(**_SAME),
    "cpu_direct": conv2d(**_SAME),
    "cpu_depthwise": depthwise_conv2d(
        c=3, h=4, w=20, kernel=3, padding=1, bias=True, post_ops=_CHAIN
    ),
    "cpu_winograd": conv2d(**_SAME),
    "cpu_transpose": conv2d_transpose(kernel=4, stride=2, padding=1, **_IMAGE),
    "cuda_tiled": conv2d(kernel=3, padding=1, **_IMAGE),
    "cuda_winograd": conv2d(**_SAME),
}


def text_of(
    operator: Operator,
    sketch_name: str | None,
    changes: Mapping[str, Any],
    target: Target = TARGET,
) -> str:
    """The program of a config that changes so much of the default."""
    sketch = sketch_for(operator, target, sketch_name)
    config = sketch.default(operator, target).replace(**changes)
    sketch.space(operator, target).check(config)
    script = sketch.program(operator, target, config).script()
    return f"# {operator.key}\n# {sketch.name} {sketch.version}: {config.key}\n{script}\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_as_it_was(name: str, check_golden: Callable[[Path, str], None]) -> None:
    operator, changes = PROGRAMS[name]
    check_golden(FOLDER / f"{name}.txt", text_of(operator, SKETCHES.get(name), changes))


@pytest.mark.parametrize("name", ON_GPUS)
def test_the_program_of_a_gpu_is_as_it_was(
    name: str, check_golden: Callable[[Path, str], None]
) -> None:
    operator, sketch = ON_GPUS[name]
    check_golden(FOLDER / f"{name}.txt", text_of(operator, sketch, {}, GPU))


@pytest.mark.parametrize("sketch", WITH_POST_OPS)
def test_post_ops_are_as_they_were(sketch: str, check_golden: Callable[[Path, str], None]) -> None:
    target = GPU if sketch.startswith("cuda") else TARGET
    check_golden(POST_OPS / f"{sketch}.txt", text_of(WITH_POST_OPS[sketch], sketch, {}, target))


def test_every_golden_file_is_in_use() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*PROGRAMS, *ON_GPUS}
    assert {path.stem for path in POST_OPS.iterdir()} == set(WITH_POST_OPS)
