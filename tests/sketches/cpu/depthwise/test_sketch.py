"""The sketch of depthwise convolutions: any window, layout and tile computes the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.operators.strategies import paddings
from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.errors import UsageError
from tunesmith.operators import DepthwiseConv2d, depthwise_conv2d, matmul, workload
from tunesmith.sketches.cpu.depthwise.sketch import MAX_MULTIPLY_ADDS, CpuDepthwise
from tunesmith.sketches.cpu.depthwise.windows import Axis, tiles_of
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuDepthwise()


class TestCpuDepthwise(SketchConformance):
    sketch = SKETCH
    operators = (
        depthwise_conv2d(c=5, h=23, w=37, kernel=3, padding=1, bias=True, relu=True),
        depthwise_conv2d(n=2, c=3, h=9, w=70, kernel=(5, 3), stride=2, padding=2, residual=True),
        depthwise_conv2d(c=4, h=7, w=7, multiplier=3, kernel=3, padding=1, constant_weights=True),
        depthwise_conv2d(c=37, h=9, w=8, kernel=3, stride=2, padding=1, layout="NHWC", bias=True),
        depthwise_conv2d(c=3, h=8, w=11, kernel=3, dilation=2, dtype="float64", relu=True),
    )


def _pair(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high))


@st.composite
def convolutions(draw: st.DrawFn) -> DepthwiseConv2d:
    layout = draw(st.sampled_from(("NCHW", "NHWC")))
    options: dict[str, Any] = {
        "n": draw(st.integers(1, 2)),
        "c": draw(st.sampled_from((1, 3, 16, 19))),
        "h": draw(st.integers(1, 20)),
        "w": draw(st.sampled_from((1, 2, 5, 7, 14, 17, 33, 50))),
        "kernel": draw(_pair(1, 4)),
        "stride": draw(_pair(1, 3)),
        "padding": draw(paddings(3)),
        "dilation": draw(_pair(1, 3)),
        "multiplier": draw(st.integers(1, 2)) if layout == "NCHW" else 1,
        "layout": layout,
        "dtype": draw(st.sampled_from(("float32", "float64"))),
    }
    options |= {
        name: draw(st.booleans()) for name in ("bias", "relu", "residual", "constant_weights")
    }
    try:
        return depthwise_conv2d(**options)
    except UsageError:
        assume(False)
        raise


@examples(40)
@given(operator=convolutions(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_any_config_computes_the_reference(
    operator: DepthwiseConv2d, seed: int, target: Target
) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@each_target
@pytest.mark.parametrize("edges", ["peeled", "masked"])
@pytest.mark.parametrize("bands", [1, 4])
def test_bands_share_the_rows(edges: str, bands: int, target: Target) -> None:
    operator = depthwise_conv2d(c=2, h=31, w=20, kernel=3, padding=1)
    config = SKETCH.default(operator, target).replace(edges=edges, bands=bands, rows=2)
    assert mismatch(SKETCH, operator, config, target) is None


@examples(200)
@given(
    size=st.integers(1, 40),
    taps=st.integers(1, 5),
    stride=st.integers(1, 3),
    padding=st.integers(0, 4),
    data=st.data(),
)
def test_tiles_cover_all_outputs_and_the_inner_ones_stay_inside(
    size: int, taps: int, stride: int, padding: int, data: st.DataObject
) -> None:
    count = (size + 2 * padding - taps) // stride + 1
    assume(count > 0)
    axis = Axis(size, count, taps, stride, padding, dilation=1)
    tile = data.draw(st.integers(1, count))
    high = (tile - 1) * stride + taps - padding
    tiles = tiles_of(axis, tile, -padding, high, masked=False)
    inner = [min((tiles.first + one) * tile, count - tile) for one in range(tiles.inner)]
    starts = [*tiles.before, *inner, *tiles.after]
    assert {start + one for start in starts for one in range(tile)} == set(range(count))
    for start in inner:
        assert start * stride >= padding
        assert start * stride + high <= size


@each_target
def test_code_stays_short_enough_to_build_quickly(target: Target) -> None:
    operator = workload("mobilenet.dw1")
    space = SKETCH.space(operator, target)
    rng = np.random.default_rng(0)
    for _ in range(5):
        script = SKETCH.program(operator, target, space.sample(rng)).script()
        assert script.count("* weight") <= MAX_MULTIPLY_ADDS


@each_target
def test_estimates_prefer_full_vectors_and_reuse_of_rows(target: Target) -> None:
    operator = workload("mobilenet.dw1")
    good = SKETCH.default(operator, target)
    widest = int(str(good["lanes"]))
    for changes in ({"lanes": widest // 4}, {"rows": 1}, {"bands": 1, "rows": 1, "vectors": 1}):
        worse = good.replace(**changes)
        expected, other = (SKETCH.estimate(operator, target, c) for c in (good, worse))
        assert expected is not None
        assert other is not None
        assert 0 < expected < other


@each_target
def test_what_it_cannot_do_it_leaves_to_others(target: Target) -> None:
    small: dict[str, Any] = {"c": 2, "h": 9, "w": 9, "kernel": 3}
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), target)
    assert not SKETCH.supports(depthwise_conv2d(**small, dtype="int8"), target)
    assert not SKETCH.supports(depthwise_conv2d(**small, layout="NHWC", multiplier=2), target)
    with pytest.raises(UsageError, match=r"\Asketch cpu_depthwise is for depthwise_conv2d"):
        SKETCH.space(matmul(m=4, n=4, k=4), target)
