"""Estimates of sketches that are not tiled by loops: what must be slower is."""

from __future__ import annotations

from typing import Any

import pytest

from tunesmith.operators import Operator, conv2d, matmul, softmax
from tunesmith.sketches import sketches
from tunesmith.space import Config
from tunesmith.target import Target

H100, A100 = Target("cuda", arch="sm_90"), Target("cuda", arch="sm_80")
LAYER = conv2d(ci=128, h=28, w=28, co=128, kernel=3, padding=1, constant_weights=True)
ROWS = softmax(m=1024, n=4096)


def estimate(sketch: str, operator: Operator, target: Target = H100, **changes: Any) -> float:
    chosen = sketches()[sketch]
    config = Config({**chosen.default(operator, target), **changes})
    chosen.space(operator, target).check(config)
    seconds = chosen.estimate(operator, target, config)
    assert seconds is not None
    return seconds


# -- Winograd -------------------------------------------------------------------------------------

WINOGRAD: dict[str, Any] = {
    "tile_rows": 2,
    "tile_columns": 2,
    "co_vthreads": 1,
    "co_threads": 16,
    "co_inner": 4,
    "tiles_vthreads": 1,
    "tiles_threads": 8,
    "tiles_inner": 4,
    "tile_ci": (1, 8, 16),
}


@pytest.mark.parametrize(
    "changes",
    [
        {"co_inner": 1, "tiles_inner": 1},  # each product reads two numbers of its own
        {"tile_ci": (1, 128, 1)},  # two barriers for each term
        {"co_threads": 2, "tiles_threads": 16, "tiles_inner": 1},  # little is shared
    ],
    ids=["no reuse", "short steps", "small blocks"],
)
def test_worse_products_are_estimated_slower(changes: dict[str, Any]) -> None:
    better = estimate("cuda_winograd", LAYER, **WINOGRAD)
    assert estimate("cuda_winograd", LAYER, **{**WINOGRAD, **changes}) > 1.1 * better


def test_transforms_are_part_of_an_estimate() -> None:
    changing = conv2d(ci=128, h=28, w=28, co=128, kernel=3, padding=1)
    constant = estimate("cuda_winograd", LAYER, **WINOGRAD)
    assert estimate("cuda_winograd", changing, **WINOGRAD) > constant + 1e-6
    split = {**WINOGRAD, "tile_ci": (8, 1, 16)}
    batch = conv2d(n=32, ci=128, h=28, w=28, co=128, kernel=3, padding=1, constant_weights=True)
    # Where there are blocks enough, parts of sums are only more to add up.
    assert estimate("cuda_winograd", batch, **split) > estimate("cuda_winograd", batch, **WINOGRAD)


# -- rows -----------------------------------------------------------------------------------------

KEPT: dict[str, Any] = {
    "tile_rows": (1024, 1),
    "threads": 256,
    "vector": 4,
    "keep_data": "registers",
    "keep_exp": "registers",
}


@pytest.mark.parametrize(
    "changes",
    [
        {"keep_data": "no"},  # read three times
        {"threads": 32, "vector": 1},  # a warp for 4096 elements
        {"tile_rows": (16, 64), "threads": 8},  # few blocks
    ],
    ids=["read again", "few threads", "few blocks"],
)
def test_worse_rows_are_estimated_slower(changes: dict[str, Any]) -> None:
    assert estimate("cuda_rows", ROWS, **{**KEPT, **changes}) > 1.1 * estimate(
        "cuda_rows", ROWS, **KEPT
    )


def test_more_rows_take_longer() -> None:
    times = [estimate("cuda_rows", softmax(m=m, n=4096)) for m in (256, 4096, 65536)]
    assert times[0] < times[1] < times[2]


# -- tensor cores ---------------------------------------------------------------------------------

PRODUCT = matmul(m=4096, n=4096, k=4096, dtype="bfloat16")
TENSOR: dict[str, Any] = {"block_m": 128, "block_n": 128, "block_k": 32, "warps_m": 2, "warps_n": 2}
WARPGROUPS: dict[str, Any] = {"block_m": 128, "block_n": 256, "block_k": 64, "warpgroups": 2}


@pytest.mark.parametrize(
    ("sketch", "better", "changes"),
    [
        ("cuda_tensor_gemm", TENSOR, {"block_m": 16, "block_n": 16, "warps_m": 1, "warps_n": 1}),
        ("cuda_tensor_gemm", TENSOR, {"warps_m": 4, "warps_n": 8}),  # each reads much for little
        ("cuda_tensor_gemm", TENSOR, {"splits": 16}),
        ("cuda_wgmma_gemm", WARPGROUPS, {"block_m": 64, "block_n": 32, "warpgroups": 1}),
        ("cuda_wgmma_gemm", WARPGROUPS, {"splits": 16}),
    ],
    ids=["small tiles", "small warps", "splits", "small products", "splits too"],
)
def test_worse_tiles_are_estimated_slower(
    sketch: str, better: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert estimate(sketch, PRODUCT, **{**better, **changes}) > 1.1 * estimate(
        sketch, PRODUCT, **better
    )


def test_few_blocks_wait_for_copies_that_do_not_run_ahead() -> None:
    small = matmul(m=512, n=512, k=4096, dtype="bfloat16")
    times = [estimate("cuda_tensor_gemm", small, **TENSOR, stages=stages) for stages in (1, 2, 4)]
    assert times[0] > 1.1 * times[1] > 1.1 * times[2]


def test_products_that_are_waited_for_are_estimated_slower() -> None:
    waited = estimate("cuda_wgmma_gemm", PRODUCT, **WARPGROUPS, pending=0, stages=3)
    assert waited > 1.02 * estimate("cuda_wgmma_gemm", PRODUCT, **WARPGROUPS, pending=1, stages=4)


def test_elements_at_odd_places_are_estimated_slower() -> None:
    odd = matmul(m=4096, n=4095, k=4095, dtype="bfloat16")
    for sketch, tile in (("cuda_tensor_gemm", TENSOR), ("cuda_wgmma_gemm", WARPGROUPS)):
        assert estimate(sketch, odd, **tile) > 1.2 * estimate(sketch, PRODUCT, **tile)


def test_warpgroups_multiply_faster_than_warps() -> None:
    """By the ratio of what their instructions can do, and not by more."""
    warps = estimate("cuda_tensor_gemm", PRODUCT, **TENSOR)
    ratio = warps / estimate("cuda_wgmma_gemm", PRODUCT, **WARPGROUPS)
    assert 1.2 < ratio < 2048 / 1280 * 1.1


# -- faster GPUs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sketch", "operator"),
    [("cuda_winograd", LAYER), ("cuda_rows", ROWS)],
    ids=["winograd", "rows"],
)
def test_a_larger_gpu_is_faster(sketch: str, operator: Operator) -> None:
    assert estimate(sketch, operator, H100) < estimate(sketch, operator, A100)
