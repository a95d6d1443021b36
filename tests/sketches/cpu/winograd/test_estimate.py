"""Which Winograd programs the model expects to be faster."""

from __future__ import annotations

from typing import Any

from tunesmith.operators import Operator, conv2d, conv2d_transpose
from tunesmith.sketches.cpu.direct.sketch import CpuDirect
from tunesmith.sketches.cpu.transpose.sketch import CpuTranspose
from tunesmith.sketches.cpu.winograd.sketch import CpuWinograd
from tunesmith.target import Target

# Of the same figures on every machine.
SERVER = Target(mcpu="skylake-avx512", cores=2)
SKETCH = CpuWinograd()


def estimate(operator: Operator, target: Target = SERVER, **changes: Any) -> float:
    config = SKETCH.default(operator, target).replace(**changes)
    SKETCH.space(operator, target).check(config)
    seconds = SKETCH.estimate(operator, target, config)
    assert seconds is not None
    return seconds


LAYER = conv2d(ci=128, h=28, w=28, co=128, kernel=3, padding=1, constant_weights=True)


def test_larger_tiles_are_expected_to_be_faster() -> None:
    assert (
        estimate(LAYER)
        < estimate(LAYER, tile_rows=2)
        < estimate(LAYER, tile_rows=2, tile_columns=2)
    )


def test_larger_strided_tiles_are_expected_to_be_faster() -> None:
    layer = conv2d(ci=64, h=56, w=56, co=128, kernel=3, stride=2, padding=1, constant_weights=True)
    assert estimate(layer, tile_rows=4, tile_columns=4) < estimate(
        layer, tile_rows=2, tile_columns=2
    )


def test_it_is_expected_to_beat_the_phases_one_by_one_where_they_have_several_taps() -> None:
    layer = conv2d_transpose(
        ci=256, h=16, w=16, co=128, kernel=4, stride=2, padding=1, constant_weights=True
    )
    direct = CpuTranspose()
    seconds = direct.estimate(layer, SERVER, direct.default(layer, SERVER))
    assert seconds is not None
    assert estimate(layer) < seconds


def test_weights_that_change_are_expected_to_cost() -> None:
    changing = conv2d(ci=128, h=28, w=28, co=128, kernel=3, padding=1)
    assert estimate(LAYER) < estimate(changing)


def test_few_channels_are_expected_to_gain_by_it() -> None:
    """Sums of three steps cost little beside their steps, and the transforms share theirs."""
    layer = conv2d(ci=3, h=224, w=224, co=64, kernel=7, stride=2, padding=3, constant_weights=True)
    target = Target(mcpu="znver3", cores=1)
    direct = CpuDirect()
    other = direct.estimate(layer, target, direct.default(layer, target))
    tile = {"tile_rows": 3, "tile_columns": 3, "block_rows": 1, "block_columns": 19}
    sums = {"register_tiles": 10, "register_vectors": 1, "ci_lanes": 1, "unroll": 1}
    assert other is not None
    assert estimate(layer, target, stages="fused", panels_at_once=1, **tile, **sums) < other


def test_a_register_tile_that_is_too_small_is_expected_to_be_slow() -> None:
    assert estimate(LAYER) < estimate(LAYER, register_tiles=4, register_vectors=2)


def test_more_cores_are_expected_to_help() -> None:
    config = SKETCH.default(LAYER, SERVER)
    one = SKETCH.estimate(LAYER, Target(mcpu="skylake-avx512", cores=1), config)
    two = SKETCH.estimate(LAYER, SERVER, config)
    assert one is not None
    assert two is not None
    assert one / 2 < two < one


def test_weights_are_asked_for_early_where_they_are_many() -> None:
    few, many = (
        conv2d(ci=channels, h=14, w=14, co=channels, kernel=3, padding=1, constant_weights=True)
        for channels in (16, 256)
    )
    assert SKETCH.default(few, SERVER)["prefetch"] == 0
    assert SKETCH.default(many, SERVER)["prefetch"] != 0
    assert estimate(many, SERVER) < estimate(many, SERVER, prefetch=0)
