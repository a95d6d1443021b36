"""Every value of every choice makes a correct program, and the choices do what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tunesmith.operators import (
    Operator,
    batch_matmul,
    conv2d,
    depthwise_conv2d,
    layer_norm,
    matmul,
    softmax,
)
from tunesmith.sketches import sketch_for
from tunesmith.space import Categorical, Config, Ordinal, Space
from tunesmith.target import Target
from tunesmith.testing.sketch import mismatch

TARGET = Target()

OPERATORS: tuple[Operator, ...] = (
    conv2d(ci=12, h=10, w=16, co=24, kernel=3, padding=1, bias=True),
    conv2d(ci=16, h=8, w=8, co=16, kernel=1, dtype="float16"),
    # Three channels are too few for a vector, and so are the seven columns.
    conv2d(ci=4, h=32, w=7, co=3, kernel=3, padding=1, layout="NHWC"),
    depthwise_conv2d(c=16, h=9, w=16, kernel=3, padding=1, relu=True),
    matmul(m=24, n=48, k=20),
    batch_matmul(b=4, m=16, n=24, k=10, transpose="TN", dtype="int8", bias=True),
    conv2d(ci=12, h=7, w=9, co=16, kernel=3, padding=1, relu=True, constant_weights=True),
    softmax(m=12, n=24),
    layer_norm(m=12, n=24),
)


def _wanted(space: Space) -> set[tuple[str, Any]]:
    return {
        (parameter.name, value)
        for parameter in space.parameters
        if isinstance(parameter, Categorical | Ordinal)
        # Of the many numbers of lanes the random configs of other tests take some.
        and not parameter.name.startswith("lanes_")
        for value in parameter.values
    }


def _covering(space: Space) -> list[Config]:
    """Few configs in which each value of each choice occurs."""
    missing, chosen = _wanted(space), []
    rng = np.random.default_rng(0)
    pool = [set(config.items()) for config in (space.sample(rng) for _ in range(200))]
    while missing:
        best = max(pool, key=lambda items: len(items & missing))
        assert best & missing, f"no config has {missing}"
        missing -= best
        chosen.append(Config(dict(best)))
    return chosen


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.key)
def test_each_value_of_each_choice_makes_a_correct_program(operator: Operator) -> None:
    sketch = sketch_for(operator, TARGET)
    for config in _covering(sketch.space(operator, TARGET)):
        wrong = mismatch(sketch, operator, config, TARGET)
        assert wrong is None, f"{config.key}: {wrong}"


def _script(operator: Operator, **changes: Any) -> str:
    sketch = sketch_for(operator, TARGET)
    config = sketch.default(operator, TARGET).replace(**changes)
    return str(sketch.program(operator, TARGET, config).script())


PADDED = conv2d(ci=16, h=16, w=16, co=32, kernel=3, padding=1)
PRODUCT = matmul(m=64, n=96, k=32)
F_TILES: dict[str, Any] = {"tile_f": (2, 1, 16), "tile_x": (8, 1, 2)}


def test_padding_is_computed_before_or_in_the_tile_loop_or_in_place() -> None:
    root, tile = (
        _script(PADDED, pad=place, vectorize="f", **F_TILES) for place in ("root", "tile")
    )
    assert root.index('T.sblock("pad")') < root.index('T.sblock("conv2d_init")')
    # A stage of its own in parallel, or within the loops that the sums are computed in.
    assert root.count("T.parallel(") == 2
    assert tile.count("T.parallel(") == 1
    inline = _script(PADDED, pad="inline", vectorize="f", **F_TILES)
    assert 'T.sblock("pad")' not in inline
    assert "T.if_then_else" in inline[inline.index('T.sblock("conv2d_update")') :]


def test_packing_makes_panels_as_wide_as_the_register_tile() -> None:
    tiles: dict[str, Any] = {"tile_i": (4, 4, 4), "tile_j": (3, 2, 16)}
    script = _script(PRODUCT, pack_data=True, pack_weight=True, **tiles)
    assert "data_global = T.sblock_alloc_buffer((16, 32, 4))" in script
    assert "weight_global = T.sblock_alloc_buffer((6, 32, 16))" in script
    plain = _script(PRODUCT, **tiles)
    assert "data_global" not in plain
    assert "weight_global" not in plain


def test_constant_weights_are_packed_in_a_function_of_their_own() -> None:
    constant = matmul(m=64, n=96, k=32, constant_weights=True)
    tiles: dict[str, Any] = {"tile_i": (4, 4, 4), "tile_j": (3, 2, 16)}
    script = _script(constant, pack_weight=True, **tiles)
    prepare, main = script[script.index("def prepare(") :].split("def main(")
    assert 'weight_global: T.Buffer((6, 32, 16), "float32")' in prepare
    assert 'T.sblock("weight_global")' in prepare
    assert 'weight_global: T.Buffer((6, 32, 16), "float32")' in main
    assert 'T.sblock("weight_global")' not in main
    # What is not packed is read as it is, and what may change is packed at each call.
    assert "def prepare(" not in _script(constant, **tiles)
    assert "def prepare(" not in _script(PRODUCT, pack_weight=True, **tiles)


def test_sums_of_the_vectorised_axis_are_consecutive() -> None:
    tiles: dict[str, Any] = {"tile_i": (4, 1, 16), "tile_j": (24, 2, 2)}
    assert "matmul_global = T.sblock_alloc_buffer((64, 96))" in _script(PRODUCT)
    along_rows = _script(PRODUCT, vectorize="i", pack_data=True, **tiles)
    assert "matmul_global = T.sblock_alloc_buffer((96, 64))" in along_rows


def test_the_register_tile_is_unrolled_and_more_if_the_config_says_so() -> None:
    tiles: dict[str, Any] = {"tile_i": (16, 1, 4), "tile_j": (3, 1, 32), "tile_k": (8, 4)}
    # Four rows of two vectors are eight; four steps of the reduction make them thirty-two.
    tile, steps = (_script(PRODUCT, unroll=size, **tiles) for size in (16, 64))
    assert _loops_over_sums(tile).count("T.unroll(4)") == 1
    assert _loops_over_sums(steps).count("T.unroll(4)") == 2


def test_sums_are_accumulated_next_to_the_registers_or_in_the_outer_tile() -> None:
    tiles: dict[str, Any] = {"tile_i": (4, 4, 4), "tile_j": (2, 3, 16)}
    registers, tile = (
        _script(PRODUCT, accumulate=place, **tiles) for place in ("registers", "tile")
    )
    # The loops over the tiles, four by three, are around the sums or within their outer loop.
    assert "T.grid(2, 4, 3)" in registers
    assert "T.grid(32, 1, 1, 1)" in _loops_over_sums(registers)
    assert "T.grid(32, 4, 3, 1)" in _loops_over_sums(tile)


def _loops_over_sums(script: str) -> str:
    """The loops between the stage that sets the sums to zero and the one that adds to them."""
    start, end = (script.index(f'T.sblock("matmul_{stage}")') for stage in ("init", "update"))
    return script[start:end]
