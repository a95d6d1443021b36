"""The spaces of the CPU sketches: what may be vectorised, what is bounded, and how many configs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from tunesmith.errors import InstantiationError, UsageError
from tunesmith.operators import (
    Operator,
    conv2d,
    depthwise_conv2d,
    matmul,
    pool2d,
    softmax,
    workload,
    workload_names,
)
from tunesmith.sketches.cpu.tiled.sketch import CpuTiled, vector_tiles
from tunesmith.sketches.sketch import instantiating
from tunesmith.space import Categorical, Config, Factorization, Parameter, Space
from tunesmith.target import Target

TARGET = Target()
TILED = CpuTiled()


def _parameters(operator: Operator) -> dict[str, Parameter]:
    return {p.name: p for p in TILED.space(operator, TARGET).parameters}


def _vector_axes(operator: Operator) -> tuple[Any, ...]:
    vectorize = _parameters(operator).get("vectorize")
    return tuple(vectorize.values) if isinstance(vectorize, Categorical) else ()


# -- how many configs -----------------------------------------------------------------------------


def test_the_space_of_a_small_product_is_what_its_rules_allow() -> None:
    """Counted again by going through all tiles, with the rules written in Python."""

    def tiles(extent: int, parts: int) -> list[tuple[int, ...]]:
        every = itertools.product(range(1, extent + 1), repeat=parts)
        return [tile for tile in every if math.prod(tile) == extent]

    def fits(vector: int, other: int) -> bool:
        whole = 8 <= vector <= 16 or vector in (32, 48, 64)
        return whole and max(vector, 16) * other <= 512

    # Both axes are long enough for a vector, so each tile may be vectorised along one or both.
    valid = sum(
        fits(i[2], j[2]) + fits(j[2], i[2])
        for i, j in itertools.product(tiles(64, 3), tiles(48, 3))
    )
    orders, parallel, accumulate, unroll, packing = 2 * 2, 2, 2, 4, 2 * 2
    choices = len(tiles(6, 2)) * orders * parallel * accumulate * unroll * packing
    assert TILED.space(matmul(m=64, n=48, k=6), TARGET).size == valid * choices


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("resnet18.C2", 10_604_805_120),
        ("resnet18.C8", 37_753_344),
        ("matmul.512", 4_715_520),
        ("dense.1x4096x1000", 2_704),
    ],
)
def test_known_layers_have_so_many_configs(name: str, size: int) -> None:
    assert TILED.space(workload(name), TARGET).size == size


@pytest.mark.parametrize("name", workload_names())
def test_every_named_layer_has_a_space_with_its_default_in_it(name: str) -> None:
    operator = workload(name)
    space = TILED.space(operator, TARGET)
    space.check(TILED.default(operator, TARGET))
    space.check(space.sample(np.random.default_rng(0)))


def test_axes_of_one_step_have_no_parameters() -> None:
    names = set(_parameters(conv2d(ci=8, h=16, w=16, co=16, kernel=1)))
    assert {"tile_f", "tile_y", "tile_x", "tile_rc"} <= names
    assert not {"tile_n", "tile_ry", "tile_rx", "order_reduction", "pad"} & names
    assert set(_parameters(matmul(m=1, n=1, k=1))) == {"unroll"}


# -- vectors and registers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extent", "tiles"),
    [
        (1, []),
        (7, [7]),
        (12, [12]),
        (14, [14]),
        (64, [8, 16, 32, 64]),
        (96, [8, 12, 16, 32, 48]),
        # No parts of vectors beside whole ones.
        (31, []),
        (62, [2]),
        (1000, [8, 10]),
        (67, []),
        (134, [2]),
    ],
)
def test_vector_tiles_are_wide_divisors_or_the_widest_there_is(
    extent: int, tiles: list[int]
) -> None:
    assert vector_tiles(extent) == tiles


@pytest.mark.parametrize(
    ("operator", "axes"),
    [
        # Output columns are consecutive; packed weights make output channels so. Rows never are.
        (conv2d(ci=8, h=32, w=32, co=32, kernel=3, padding=1), ("f", "x")),
        (conv2d(ci=8, h=32, w=32, co=32, kernel=3, padding=1, layout="NHWC"), ("f",)),
        (depthwise_conv2d(c=32, h=32, w=32, kernel=3, padding=1), ("f", "x")),
        (pool2d(c=32, h=32, w=32, kernel=2, stride=2), ("c", "x")),
        (matmul(m=32, n=32, k=32), ("i", "j")),
        # A single column: then rows are consecutive.
        (conv2d(ci=8, h=32, w=1, co=1, kernel=(3, 1)), ("y",)),
        # What is consecutive is too short: vectors from anywhere are better than none.
        (conv2d(ci=4, h=32, w=7, co=3, kernel=1), ("f", "y", "x")),
        # Primes above sixteen have no tile that is a vector.
        (matmul(m=67, n=127, k=32), ()),
    ],
    ids=lambda value: value.key if isinstance(value, Operator) else "",
)
def test_vectors_run_along_axes_that_are_consecutive_in_memory(
    operator: Operator, axes: tuple[str, ...]
) -> None:
    assert set(_vector_axes(operator)) == set(axes)


def _register_tile(config: Config) -> dict[str, int]:
    return {
        name.removeprefix("tile_"): int(value[2])
        for name, value in config.items()
        if name.startswith("tile_") and isinstance(value, tuple) and len(value) == 3
    }


@pytest.mark.parametrize(
    "operator",
    [
        conv2d(ci=64, h=56, w=56, co=64, kernel=3, padding=1),
        matmul(m=96, n=128, k=64),
        matmul(m=67, n=127, k=32),
    ],
    ids=lambda operator: operator.key,
)
def test_a_register_tile_is_whole_vectors_that_fit_the_registers(operator: Operator) -> None:
    space = TILED.space(operator, TARGET)
    rng = np.random.default_rng(0)
    for _ in range(200):
        config = space.sample(rng)
        tile = _register_tile(config)
        width = 1
        if "vectorize" in config:
            width = tile[str(config["vectorize"])]
            assert 8 <= width <= 64
        # A narrow vector takes a whole register of sixteen floats. There are at most thirty-two.
        unused = max(width, 16) // width if "vectorize" in config else 1
        assert math.prod(tile.values()) * unused <= 32 * 16


def test_padding_in_place_and_packing_keep_vectors_whole() -> None:
    space = TILED.space(conv2d(ci=16, h=32, w=32, co=32, kernel=3, padding=1), TARGET)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        config = space.sample(rng)
        seen.add((config["vectorize"], config["pad"], config["pack_pad"]))
    allowed = {("f", pad, pack) for pad in ("root", "tile") for pack in (False, True)}
    allowed |= {("f", "inline", False), ("x", "root", False), ("x", "tile", False)}
    assert seen == allowed


# -- the default ----------------------------------------------------------------------------------


def test_the_default_vectorises_the_last_axis_and_shares_rows_among_the_cores() -> None:
    default = TILED.default(matmul(m=512, n=512, k=512), TARGET)
    assert default["tile_j"] == (32, 1, 16)
    assert default["tile_i"] == (512, 1, 1)
    assert (default["vectorize"], default["parallel"]) == ("j", 1)
    assert not default["pack_data"]
    assert not default["pack_weight"]


# -- configs that are none ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"tile_i": (3, 1, 1)},
        {"tile_i": (1, 1, 512), "tile_j": (1, 1, 512)},
        {"vectorize": "k"},
        {"unroll": 3},
        {"order_outer": ("i", "i")},
    ],
    ids=str,
)
def test_a_config_outside_the_space_is_an_instantiation_error(changes: dict[str, Any]) -> None:
    operator = matmul(m=512, n=512, k=512)
    config = TILED.default(operator, TARGET).replace(**changes)
    with pytest.raises(InstantiationError, match=r"\Athe sketch's space has no such config: .+\Z"):
        TILED.program(operator, TARGET, config)


def test_what_tvm_refuses_is_an_instantiation_error_in_one_line() -> None:
    from tvm.s_tir import Schedule

    from tunesmith.sketches.tir.loop_nest import lower

    schedule = Schedule(lower(matmul(m=4, n=4, k=4)))
    space = Space([Factorization("tile", 4, 2)])
    with (
        pytest.raises(InstantiationError) as caught,
        instantiating(space, Config({"tile": (2, 2)})),
    ):
        schedule.get_sblock("nowhere")
    message = str(caught.value)
    assert message.startswith("TVM cannot schedule this config: ")
    assert "nowhere" in message
    assert "\n" not in message


def test_an_operator_of_the_other_sketch_is_a_usage_error() -> None:
    assert not TILED.supports(softmax(m=4, n=4), TARGET)
    with pytest.raises(UsageError, match=r"\Asketch cpu_tiled needs one reduction.+\Z"):
        TILED.space(softmax(m=4, n=4), TARGET)
