"""The model on a kernel that others wrote and measured: a 15x15 convolution on two real GPUs.

Each block of threads makes a tile of 4096x4096 outputs, with the inputs under it in shared memory
and the filter in constant memory. What a block does is read off the parameters as sketches do it
for their own programs; the recorded times say whether such figures put configs in the right order.
"""

from __future__ import annotations

import gzip
import json
import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from tests.sketches.test_estimates import rank_correlation
from tunesmith.sketches.cuda.estimates.banks import wavefronts
from tunesmith.sketches.cuda.estimates.block_work import BlockWork, seconds
from tunesmith.sketches.cuda.estimates.gpu import Gpu
from tunesmith.sketches.cuda.limits import WARP
from tunesmith.target import Target

FOLDER = Path(__file__).parents[5] / "shared" / "data" / "replay" / "convolution"
ARCHS = {"A100": "sm_80", "A6000": "sm_86"}
IMAGE, FILTER, FLOAT = 4096, 15, 4
STARTS = 16


def distinct(tile: int, step: int) -> int:
    """Rows (columns) under a thread's outputs, which lie a block apart."""
    return len({output * step + tap for output in range(tile) for tap in range(FILTER)})


def estimate(config: dict[str, int], gpu: Gpu) -> float:
    across, down = config["block_size_x"], config["block_size_y"]
    wide, high = config["tile_size_x"], config["tile_size_y"]
    warps = math.ceil(across * down / WARP)
    width, height = across * wide + FILTER - 1, down * high + FILTER - 1
    padding = WARP - width % WARP + across % WARP if config["use_padding"] else 0
    threads = range(min(WARP, across * down))
    words = tuple(one // across * (width + padding) + one % across for one in threads)
    multiply_adds = FILTER * FILTER * wide * high
    loads = distinct(high, down) * FILTER * wide  # rows are kept from tap to tap, columns are not
    copies = math.ceil(width / across) * math.ceil(height / down)
    work = BlockWork(
        threads=across * down,
        registers=30 + wide * high + FILTER * wide,
        shared_bytes=width * height * FLOAT,
        steps=1,
        arithmetic=warps * WARP * multiply_adds / gpu.lanes,
        shared=warps * (loads * wavefronts(words, 1) + copies),
        instructions=warps * (multiply_adds + loads + 8 * copies + 8 * FILTER),
        bytes=height * (width * FLOAT + 16),
        waiting=340 + 25 * FILTER,
        outside=warps * wide * high * 6,
    )
    grid = math.ceil(IMAGE / (across * wide)) * math.ceil(IMAGE / (down * high))
    return seconds(work, grid, gpu, 2 * IMAGE * IMAGE * FLOAT)


@lru_cache(maxsize=2)
def estimates_and_seconds(name: str) -> tuple[list[float], list[float]]:
    path = FOLDER / f"{name}.json.gz"
    if not path.is_file():
        pytest.skip(f"the recorded space convolution/{name} is not beside the checkout")
    gpu = Gpu.of(Target("cuda", arch=ARCHS[name]))
    assert gpu is not None
    with gzip.open(path) as file:
        rows = json.load(file)["results"]
    right = [row for row in rows if row["invalidity"] == "correct"]
    staged = [row for row in right if row["configuration"]["use_shmem"]]
    assert len(staged) > 2000
    return (
        [estimate(row["configuration"], gpu) for row in staged],
        [float(np.mean(row["times"]["runtimes"])) for row in staged],
    )


@pytest.mark.parametrize("name", ARCHS)
def test_the_order_is_that_of_the_gpu(name: str) -> None:
    assert rank_correlation(*estimates_and_seconds(name)) > 0.75


@pytest.mark.parametrize("name", ARCHS)
def test_the_first_starts_are_among_the_fastest(name: str) -> None:
    estimates, measured = estimates_and_seconds(name)
    first = np.argsort(estimates, kind="stable")[:STARTS]
    best = min(measured[start] for start in first)
    assert np.mean(np.array(measured) < best) < 0.05
    assert best < 0.7 * np.median(measured)
