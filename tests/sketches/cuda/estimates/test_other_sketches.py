"""Estimates of sketches that are not tiled by loops: what must be slower is."""

from __future__ import annotations

from typing import Any

import pytest

from tunesmith.operators import Operator, conv2d, softmax
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


# -- faster GPUs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sketch", "operator"),
    [("cuda_winograd", LAYER), ("cuda_rows", ROWS)],
    ids=["winograd", "rows"],
)
def test_a_larger_gpu_is_faster(sketch: str, operator: Operator) -> None:
    assert estimate(sketch, operator, H100) < estimate(sketch, operator, A100)
