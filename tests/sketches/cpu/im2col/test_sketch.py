"""The sketch of convolutions as products: any window, layout, type and tile, and its planes."""

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
from tunesmith.operators import Conv2d, conv2d, matmul
from tunesmith.sketches.cpu.im2col.planes import Phases, Planes
from tunesmith.sketches.cpu.im2col.sketch import CpuIm2col
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuIm2col()


class TestCpuIm2col(SketchConformance):
    sketch = SKETCH
    samples = 1
    operators = (
        conv2d(ci=5, h=9, w=41, co=17, kernel=3, padding=1, bias=True, relu=True, residual=True),
        conv2d(ci=6, h=15, w=15, co=19, kernel=1, stride=2, constant_weights=True),
        conv2d(n=2, ci=16, h=9, w=9, co=24, kernel=3, layout="NHWC", constant_weights=True),
        conv2d(ci=7, h=13, w=12, co=18, kernel=3, stride=2, padding=1, dtype="int8"),
        conv2d(ci=8, h=12, w=12, co=16, kernel=3, dtype="bfloat16", bias=True, residual=True),
    )


def _pair(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high))


@st.composite
def convolutions(draw: st.DrawFn, dtypes: tuple[str, ...]) -> Conv2d:
    options: dict[str, Any] = {
        "n": draw(st.integers(1, 2)),
        "ci": draw(st.sampled_from((1, 3, 16, 32))),
        "h": draw(st.integers(1, 12)),
        "w": draw(st.sampled_from((1, 2, 5, 7, 14, 17, 33))),
        "co": draw(st.sampled_from((1, 2, 7, 16, 35))),
        "kernel": draw(_pair(1, 3)),
        "stride": draw(_pair(1, 3)),
        "padding": draw(paddings(2)),
        "dilation": draw(_pair(1, 2)),
        "layout": draw(st.sampled_from(("NCHW", "NHWC"))),
        "dtype": draw(st.sampled_from(dtypes)),
    }
    options |= {
        name: draw(st.booleans()) for name in ("bias", "relu", "residual", "constant_weights")
    }
    try:
        return conv2d(**options)
    except UsageError:
        assume(False)
        raise


def _check(operator: Conv2d, seed: int, target: Target) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@examples(15)
@given(
    operator=convolutions(("float32", "float64", "float16")),
    seed=st.integers(0, 2**32 - 1),
    target=any_target,
)
def test_any_config_computes_the_reference(operator: Conv2d, seed: int, target: Target) -> None:
    _check(operator, seed, target)


@examples(15)
@given(
    operator=convolutions(("bfloat16", "int8")),
    seed=st.integers(0, 2**32 - 1),
    target=any_target,
)
def test_any_config_of_a_narrow_type_computes_the_reference(
    operator: Conv2d, seed: int, target: Target
) -> None:
    _check(operator, seed, target)


@each_target
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8"])
def test_vectors_of_which_one_lane_is_written_leave_their_neighbours_alone(
    dtype: str, target: Target
) -> None:
    # One window a row: each store is of a single lane, which the compiler knows. A row of channels
    # is written after the one below it.
    operator = conv2d(ci=8, h=5, w=3, co=8, kernel=3, residual=True, dtype=dtype)
    default = SKETCH.default(operator, target)
    small = {"along": "pixels", "rows": 1, "vectors": 1, "lanes": 4, "row_parts": 1}
    for blocks in (1, 2):
        config = default.replace(
            **small, column_parts=1, blocks=blocks, outer="columns", inner="columns"
        )
        assert mismatch(SKETCH, operator, config, target) is None


@given(
    size=st.integers(1, 30),
    taps=st.integers(1, 5),
    stride=st.integers(1, 4),
    padding=st.integers(0, 4),
    dilation=st.integers(1, 3),
)
def test_a_tap_of_all_windows_is_a_run_of_its_phase(
    size: int, taps: int, stride: int, padding: int, dilation: int
) -> None:
    count = (size + 2 * padding - (taps - 1) * dilation - 1) // stride + 1
    assume(count > 0)
    phases = Phases(size, count, taps, stride, padding, dilation)
    lines = []
    for phase in phases.used:
        first, inside = phases.inside(phase)
        line = [phase - padding + stride * one for one in range(phases.length)]
        exists = [0 <= one < size for one in line]
        assert [first <= place < first + inside for place in range(phases.length)] == exists
        lines.append(line)
    for tap in range(taps):
        number, start = phases.place(tap)
        run = lines[number][start : start + count]
        assert run == [one * stride + tap * dilation - padding for one in range(count)]


def test_only_images_that_must_be_are_laid_out_anew() -> None:
    size: dict[str, Any] = {"ci": 4, "h": 8, "w": 8, "co": 4}
    assert Planes.of(conv2d(**size, kernel=1)).in_place
    assert Planes.of(conv2d(**size, kernel=3)).in_place
    assert not Planes.of(conv2d(**size, kernel=3, padding=1)).in_place
    strided = Planes.of(conv2d(**size, kernel=1, stride=2))
    assert not strided.in_place
    assert strided.windows == strided.plane == 16, "every second pixel, without a gap"


@each_target
def test_estimates_know_what_copies_and_wasted_windows_cost(target: Target) -> None:
    size: dict[str, Any] = {"ci": 64, "h": 16, "w": 14, "co": 64, "constant_weights": True}
    easy, padded = conv2d(**size, kernel=1), conv2d(**size, kernel=1, padding=1)
    times = [SKETCH.estimate(one, target, SKETCH.default(one, target)) for one in (easy, padded)]
    assert times[0] is not None
    assert times[1] is not None
    assert 0 < times[0] < times[1]
    default = SKETCH.default(easy, target)
    short = SKETCH.estimate(easy, target, default.replace(rows=1, vectors=1))
    assert short is not None
    assert times[0] < short


@each_target
@pytest.mark.parametrize(
    ("layout", "along", "right", "left"),
    [
        ("NCHW", "pixels", "pack_patches", "pack_weights"),
        ("NHWC", "channels", "pack_weights", "pack_patches"),
    ],
)
def test_only_panels_of_vectors_are_read_ahead(
    layout: str, along: str, right: str, left: str, target: Target
) -> None:
    """Without them the distance changes no program, and would make several configs of one."""
    space = SKETCH.space(conv2d(ci=64, h=14, w=14, co=64, kernel=1, layout=layout), target)
    drawn = space.sample_many(400, np.random.default_rng(0))
    ahead = [config for config in drawn if config["along"] == along and config["prefetch"]]
    assert ahead
    assert all(config[right] != "none" for config in ahead)
    assert any(config[left] == "none" for config in ahead)


@each_target
def test_what_it_cannot_do_it_leaves_to_others(target: Target) -> None:
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), target)
    assert not SKETCH.supports(conv2d(ci=4, h=8, w=8, co=4, kernel=1, groups=2), target)
    # Little data but so much padding that 32 bits cannot number the elements of the planes.
    wide = conv2d(ci=600, h=1, w=1, co=1, kernel=1, padding=1000)
    assert not SKETCH.supports(wide, target)
    with pytest.raises(UsageError, match=r"\Asketch cpu_im2col is for conv2d"):
        SKETCH.space(matmul(m=4, n=4, k=4), target)
