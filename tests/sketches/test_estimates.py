"""Estimates: sane for any config, right about what must be slower, and in the order of records.

The records in ``recorded/`` are made by ``record_seconds``, on one core.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.strategies import any_operator
from tests.properties import examples
from tunesmith.errors import InstantiationError
from tunesmith.operators import (
    Operator,
    adaptive_pool2d,
    batch_matmul,
    conv2d,
    depthwise_conv2d,
    embedding,
    gru,
    layer_norm,
    lstm,
    matmul,
    operator_from_json,
    pool2d,
    reduce,
    softmax,
    workload,
)
from tunesmith.sketches import Sketch, sketches, sketches_for
from tunesmith.sketches.cpu.tiled.sketch import CpuTiled
from tunesmith.space import Config
from tunesmith.target import Target

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))
# The least rank correlation of estimates and seconds by sketch, some way below what it is.
LEAST = {"cpu_depthwise": 0.6}
LEAST_OF_OTHERS = 0.7

OPERATORS: tuple[Operator, ...] = (
    conv2d(ci=16, h=14, w=14, co=32, kernel=3, padding=1, stride=2, bias=True),
    conv2d(ci=16, h=9, w=7, co=24, kernel=1, groups=2, layout="NHWC"),
    depthwise_conv2d(c=32, h=15, w=13, kernel=3, padding=1),
    matmul(m=96, n=80, k=64, residual=True),
    batch_matmul(b=3, m=17, n=31, k=13, transpose="NT"),
    matmul(m=64, n=64, k=64, dtype="int8"),
    pool2d(c=8, h=12, w=12, kernel=2, stride=2),
    softmax(m=32, n=96),
    adaptive_pool2d(c=8, h=13, w=15, output_size=(6, 4)),
    reduce(outer=4, n=33, inner=20),
    reduce(outer=40, n=33),
    layer_norm(m=32, n=97),
    embedding(n=12, rows=40, width=50),
    lstm(steps=3, b=2, units=40, constant_weights=True),
    gru(b=5, units=33),
)
GPUS = (Target("cuda", arch="sm_80"), Target("cuda", arch="sm_90"))
TARGETS = (Target(cores=2), Target(mcpu="haswell", cores=4), *GPUS)


def ranks(values: list[float]) -> list[float]:
    """Places in order, those of equal values averaged."""
    order = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(order[2])
    return [float(last[i] - (order[2][i] - 1) / 2) for i in order[1]]


def rank_correlation(first: list[float], second: list[float]) -> float:
    """Spearman's."""
    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])


def test_there_are_records() -> None:
    """Of which the tests below are made."""
    assert {path.name.partition("-")[0] for path in RECORDED} == {
        "cpu_depthwise",
        "cpu_direct",
        "cpu_gemm",
        "cpu_im2col",
        "cpu_rows",
        "cpu_tiled",
        "cpu_winograd",
    }


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.key)
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_estimates_are_positive_and_finite(operator: Operator, target: Target) -> None:
    for sketch in sketches_for(operator, target):
        space = sketch.space(operator, target)
        for config in [
            sketch.default(operator, target),
            *space.sample_many(30, np.random.default_rng(0)),
        ]:
            seconds = sketch.estimate(operator, target, config)
            assert seconds is not None, sketch.name
            assert seconds > 0, sketch.name
            assert seconds < math.inf or refused(sketch, operator, target, config), sketch.name


def refused(sketch: Sketch, operator: Operator, target: Target, config: Config) -> bool:
    """Whether a GPU cannot do that, as is known before anything is compiled."""
    try:
        sketch.program(operator, target, config)
    except InstantiationError:
        return target.kind == "cuda"
    return False


LARGE: tuple[Operator, ...] = (workload("resnet18.C1"), matmul(m=1000, n=1008, k=999))


@pytest.mark.parametrize("operator", LARGE, ids=lambda operator: operator.name)
def test_what_a_gpu_can_do_does_not_take_for_ever(operator: Operator) -> None:
    """Among these are blocks of every number of warps, with many registers."""
    for sketch in sketches_for(operator, GPUS[1]):
        space = sketch.space(operator, GPUS[1])
        configs = space.sample_many(200, np.random.default_rng(0))
        times = [sketch.estimate(operator, GPUS[1], config) for config in configs]
        endless = [config for config, time in zip(configs, times, strict=True) if time == math.inf]
        assert len(endless) < len(configs)
        assert all(refused(sketch, operator, GPUS[1], config) for config in endless), sketch.name


@examples(40)  # the first config of an operator waits for TVM
@given(any_operator, st.integers(0, 999))
def test_any_operator_has_estimates(operator: Operator, seed: int) -> None:
    target = Target(cores=2)
    for sketch in sketches_for(operator, target):
        config = sketch.space(operator, target).sample(np.random.default_rng(seed))
        seconds = sketch.estimate(operator, target, config)
        assert seconds is None or 0 < seconds < math.inf


@examples(40)  # the first config of an operator waits for TVM
@given(any_operator, st.integers(0, 999), st.sampled_from(GPUS))
def test_what_a_gpu_cannot_do_takes_for_ever(operator: Operator, seed: int, gpu: Target) -> None:
    for sketch in sketches_for(operator, gpu):
        config = sketch.space(operator, gpu).sample(np.random.default_rng(seed))
        seconds = sketch.estimate(operator, gpu, config)
        assert seconds is not None, sketch.name
        if not refused(sketch, operator, gpu, config):
            assert 0 < seconds < math.inf, sketch.name


def test_a_gpu_that_is_not_known_has_no_estimates() -> None:
    operator, gpu = matmul(m=64, n=64, k=64), Target("cuda", arch="sm_999")
    for sketch in sketches_for(operator, gpu):
        config = sketch.default(operator, gpu)
        assert sketch.estimate(operator, gpu, config) is None


# -- what must be slower --------------------------------------------------------------------------

PRODUCT = matmul(m=256, n=256, k=256)
# Tiles whose sums are held by 16 registers of 8 floats, and by 32 of 16.
TILES: dict[str, dict[str, Any]] = {
    "x86-64-v3": {"tile_i": (64, 1, 4), "tile_j": (8, 2, 16)},
    "x86-64-v4": {"tile_i": (32, 1, 8), "tile_j": (4, 2, 32)},
}
GOOD: dict[str, Any] = {
    "tile_k": (8, 32),
    "order_outer": ("i", "j"),
    "order_middle": ("i", "j"),
    "parallel": 2,
    "accumulate": "registers",
    "vectorize": "j",
    "unroll": 16,
    "pack_data": False,
    "pack_weight": False,
}


def estimated(mcpu: str, cores: int = 2, **changes: Any) -> float:
    target = Target(mcpu=mcpu, cores=cores)
    config = Config({**GOOD, **TILES[mcpu], **changes})
    sketch = CpuTiled()
    sketch.space(PRODUCT, target).check(config)
    seconds = sketch.estimate(PRODUCT, target, config)
    assert seconds is not None
    return seconds


@pytest.mark.parametrize("mcpu", TILES)
@pytest.mark.parametrize(
    "changes",
    [
        # One of two cores: a single task.
        {"tile_i": (1, 32, 8), "tile_j": (1, 8, 32)},
        # Two sums wait for each other.
        {"tile_i": (256, 1, 1), "order_outer": ("j", "i")},
        # Vectors along an axis that lies scattered in memory.
        {"vectorize": "i", "tile_i": (16, 1, 16), "tile_j": (32, 1, 8)},
        # Sums in memory, set down after each step of the reduction.
        {"accumulate": "tile", "tile_k": (256, 1)},
    ],
    ids=["one core", "latency", "scattered", "sums in memory"],
)
def test_a_worse_config_is_estimated_slower(changes: dict[str, Any], mcpu: str) -> None:
    assert estimated(mcpu, **changes) > 1.15 * estimated(mcpu)


@pytest.mark.parametrize("mcpu", TILES)
def test_twice_the_cores_take_nearly_half_the_time(mcpu: str) -> None:
    one, two = (estimated(mcpu, cores) for cores in (1, 2))
    assert 0.45 < two / one < 0.65


def test_constant_weights_are_not_packed_in_a_call() -> None:
    target = Target(mcpu="x86-64-v4", cores=2)
    packed = Config({**GOOD, **TILES["x86-64-v4"], "pack_weight": True})
    constant = matmul(m=256, n=256, k=256, constant_weights=True)
    seconds = [CpuTiled().estimate(operator, target, packed) for operator in (PRODUCT, constant)]
    assert seconds[0] is not None
    assert seconds[1] is not None
    assert seconds[1] < seconds[0]


# -- the order of what was measured ---------------------------------------------------------------


def recorded(path: Path) -> tuple[Sketch, list[float], list[float]]:
    """The sketch, and estimate and seconds of each config that its space still has."""
    record = json.loads(path.read_text(encoding="utf-8"))
    sketch = sketches()[record["sketch"]]
    operator = operator_from_json(record)
    target = Target(mcpu=record["mcpu"], cores=record["cores"])
    space = sketch.space(operator, target)
    estimates, seconds = [], []
    for values, measured in record["rows"]:
        config = Config.from_json(values)
        if space.contains(config):
            estimate = sketch.estimate(operator, target, config)
            assert estimate is not None
            estimates.append(estimate)
            seconds.append(float(measured))
    assert len(estimates) >= len(record["rows"]) / 2, f"{path.name} is old: record it again"
    return sketch, estimates, seconds


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_estimates_have_the_order_of_measurements(path: Path) -> None:
    sketch, estimates, seconds = recorded(path)
    assert rank_correlation(estimates, seconds) >= LEAST.get(sketch.name, LEAST_OF_OTHERS)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_fast_config_is_among_the_first_five(path: Path) -> None:
    _, estimates, seconds = recorded(path)
    first = sorted(range(len(estimates)), key=lambda index: estimates[index])[:5]
    assert min(seconds[index] for index in first) <= min(seconds) / 0.9


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 15]) == pytest.approx(0.5)
    assert rank_correlation([1, 1, 2], [3, 3, 4]) == pytest.approx(1)
    assert ranks([5.0, 5.0, 1.0]) == [2.5, 2.5, 1.0]
