"""The sketch of transposed convolution: any shape and config computes the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.errors import UsageError
from tunesmith.operators import Conv2dTranspose, conv2d, conv2d_transpose
from tunesmith.sketches.cpu.model.machine import Machine
from tunesmith.sketches.cpu.transpose.phases import axes
from tunesmith.sketches.cpu.transpose.plan import TransposePlan
from tunesmith.sketches.cpu.transpose.sketch import CpuTranspose
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuTranspose()
TARGET = Target()
GOLDEN = Path(__file__).parent / "golden"
OPERATORS = (
    conv2d_transpose(ci=8, h=7, w=9, co=19, kernel=4, stride=2, padding=1, constant_weights=True),
    conv2d_transpose(ci=6, h=5, w=18, co=24, kernel=2, stride=2, bias=True, residual=True),
    conv2d_transpose(
        n=2, ci=5, h=9, w=7, co=3, kernel=3, stride=2, padding=1, output_padding=1, relu=True
    ),
    conv2d_transpose(ci=4, h=6, w=5, co=8, kernel=(1, 5), stride=(3, 1), dtype="float16"),
)


class TestCpuTranspose(SketchConformance):
    sketch = SKETCH
    operators = OPERATORS


def _pair(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high))


@st.composite
def transposed(draw: st.DrawFn) -> Conv2dTranspose:
    """Extents of one element, primes, and such as are below a vector, at one and above."""
    options: dict[str, Any] = {
        "n": draw(st.integers(1, 2)),
        "ci": draw(st.sampled_from((1, 3, 8, 18))),
        "h": draw(st.integers(1, 9)),
        "w": draw(st.sampled_from((1, 2, 5, 7, 8, 13, 16, 19, 33))),
        "co": draw(st.sampled_from((1, 3, 5, 16, 17, 33, 48))),
        "kernel": draw(_pair(1, 5)),
        "stride": draw(_pair(1, 3)),
        "padding": draw(st.just((0, 0)) | _pair(0, 4)),
        "output_padding": draw(st.just((0, 0)) | _pair(0, 2)),
        "dtype": draw(st.sampled_from(("float32", "float32", "float64", "float16"))),
    }
    options |= {
        name: draw(st.booleans()) for name in ("bias", "relu", "residual", "constant_weights")
    }
    try:
        return conv2d_transpose(**options)
    except UsageError:
        assume(False)
        raise


# Each example is a build.
@examples(30)
@given(operator=transposed(), seed=st.integers(0, 2**32 - 1), target=any_target)
@example(operator=conv2d_transpose(ci=3, h=1, w=1, co=1, kernel=1, stride=3), seed=0, target=TARGET)
@example(
    operator=conv2d_transpose(ci=2, h=3, w=4, co=2, kernel=1, padding=1), seed=1, target=TARGET
)
@example(
    operator=conv2d_transpose(ci=2, h=3, w=9, co=4, kernel=2, stride=3, output_padding=2),
    seed=2,
    target=TARGET,
)
def test_any_config_computes_the_reference(
    target: Target, operator: Conv2dTranspose, seed: int
) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target, seed=seed % 7)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


# Bands that overlap, and phases of one, two and four taps.
UNEVEN = conv2d_transpose(
    n=2, ci=12, h=11, w=21, co=37, kernel=3, stride=2, padding=1, output_padding=(0, 1), bias=True
)


@each_target
@pytest.mark.parametrize("order", ["weights", "bands"])
@pytest.mark.parametrize(
    "changes",
    [
        {"vectorize": "channels", "tile_rows": 2, "tile_columns": 5, "tile_channels": 1},
        {"vectorize": "channels", "data": "blocked"},
        # Scalars are held, then vectors.
        {"vectorize": "columns", "tile_rows": 2, "tile_columns": 2, "tile_channels": 3},
        {"vectorize": "columns", "tile_rows": 1, "tile_columns": 2, "tile_channels": 5},
    ],
)
def test_all_ways_to_share_out_compute_the_reference(
    target: Target, order: str, changes: dict[str, Any]
) -> None:
    tile = {"tile_rows": 1, "tile_columns": 6, "tile_channels": 2, "block": 4, "steps": 6}
    shared = {"split_channels": 2, "split_rows": 3, "order": order, "data": "plain"}
    config = SKETCH.default(UNEVEN, target).replace(**{**tile, **shared, **changes})
    wrong = mismatch(SKETCH, UNEVEN, config, target)
    assert wrong is None, f"{config.key}: {wrong}"


# -- what it schedules ----------------------------------------------------------------------------


def test_it_is_for_transposed_convolutions_of_floats() -> None:
    integers = conv2d_transpose(ci=4, h=4, w=4, co=4, kernel=2, dtype="int8")
    assert not SKETCH.supports(integers, TARGET)
    assert not SKETCH.supports(conv2d(ci=4, h=4, w=4, co=4, kernel=1), TARGET)
    assert not SKETCH.supports(OPERATORS[0], Target("cuda", arch="sm_80"))
    with pytest.raises(UsageError, match=r"^sketch cpu_transpose is for conv2d_transpose, not .*$"):
        SKETCH.space(conv2d(ci=4, h=4, w=4, co=4, kernel=1), TARGET)


@each_target
@pytest.mark.parametrize("operator", [OPERATORS[0], OPERATORS[2], UNEVEN], ids=str)
def test_tiles_fit_the_registers(operator: Conv2dTranspose, target: Target) -> None:
    machine = Machine.of(target)
    space = SKETCH.space(operator, target)
    for config in space.sample_many(200, np.random.default_rng(1)):
        tile = TransposePlan.of(operator, target, config).grid.tile
        pixels = tile.rows * tile.columns
        held = min(tile.channels, pixels)
        assert pixels * tile.channels + held < machine.vector_registers


def test_data_are_read_in_place_where_no_phase_leaves_the_image() -> None:
    inside = conv2d_transpose(ci=4, h=8, w=8, co=8, kernel=2, stride=2)
    choices = {
        parameter.name: getattr(parameter, "values", ())
        for parameter in SKETCH.space(inside, TARGET).parameters
    }
    assert choices["copy"] == ("none", "image")
    assert [axis.margin for axis in axes(inside)] == [0, 0]
    outside = conv2d_transpose(ci=4, h=8, w=8, co=8, kernel=4, stride=2, padding=1)
    assert [axis.margin for axis in axes(outside)] == [1, 1]
    assert SKETCH.default(outside, TARGET)["copy"] == "image"


@given(transposed())
def test_phases_meet_each_tap_and_each_output_once(operator: Conv2dTranspose) -> None:
    for axis in axes(operator):
        phases = [
            (phase, group)
            for group in axis.groups
            for phase in range(group.first, group.first + group.count)
        ]
        assert sum(group.taps for _, group in phases) == axis.kernel
        assert sorted(axis.place(phase) for phase, _ in phases) == list(range(axis.stride))
        for phase, group in phases:
            for tap in range(phase, axis.kernel, axis.stride):
                # The first output of the phase, and the tap's place among those of the phase.
                element = axis.place(phase) + axis.padding - tap
                assert element % axis.stride == 0
                place = group.taps - 1 - tap // axis.stride
                read = axis.start(phase, group.taps) + place
                assert read == element // axis.stride + axis.margin
                assert read >= 0
                assert read + axis.steps <= axis.size + 2 * axis.margin


# -- estimates ------------------------------------------------------------------------------------

DCGAN = conv2d_transpose(
    ci=256, h=16, w=16, co=128, kernel=4, stride=2, padding=1, constant_weights=True
)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        # Twelve sums hide what eight do not, and take fewer loads.
        ({"tile_columns": 6, "tile_channels": 2}, {"tile_columns": 4, "tile_channels": 2}),
        # Rows of 16 are eight tiles of two; the last of nine overlaps its neighbour.
        ({"tile_rows": 4, "tile_columns": 1}, {"tile_rows": 5, "tile_columns": 1}),
    ],
)
def test_estimates_know_what_is_faster(better: dict[str, Any], worse: dict[str, Any]) -> None:
    target = Target(mcpu="haswell", cores=1)
    config = SKETCH.default(DCGAN, target).replace(
        vectorize="channels", tile_rows=1, tile_columns=3, tile_channels=2, split_rows=1, steps=4
    )
    first, second = (
        SKETCH.estimate(DCGAN, target, config.replace(**changes)) for changes in (better, worse)
    )
    assert first is not None
    assert second is not None
    assert 0 < first < second


def test_weights_that_change_take_longer() -> None:
    values = {option.name: getattr(DCGAN, option.name) for option in DCGAN.options()}
    changing = conv2d_transpose(**{**values, "constant_weights": False})
    config = SKETCH.default(DCGAN, TARGET)
    fast, slow = (SKETCH.estimate(operator, TARGET, config) for operator in (DCGAN, changing))
    assert fast is not None
    assert slow is not None
    assert fast < slow


# -- programs, word for word ----------------------------------------------------------------------

PROGRAMS: dict[str, tuple[Conv2dTranspose, dict[str, Any]]] = {
    # Four phases of the same taps, which share their code; vectors of channels, data in place.
    "channels": (
        conv2d_transpose(ci=4, h=6, w=6, co=16, kernel=2, stride=2, constant_weights=True),
        {"vectorize": "channels", "tile_rows": 2, "tile_columns": 6, "tile_channels": 1},
    ),
    # Phases of one and of two taps; vectors of columns, of which the scalars are held.
    "columns": (
        conv2d_transpose(
            ci=4,
            h=4,
            w=16,
            co=2,
            kernel=(1, 3),
            stride=(1, 2),
            padding=(0, 1),
            bias=True,
            relu=True,
        ),
        {"vectorize": "columns", "tile_rows": 4, "tile_columns": 1, "tile_channels": 2},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_as_it_was(name: str, check_golden: Callable[[Path, str], None]) -> None:
    operator, changes = PROGRAMS[name]
    target = Target(mcpu="x86-64-v3", cores=2)
    common = {"steps": 1, "block": 4, "data": "plain", "split_rows": 1, "split_channels": 1}
    copy = {"copy": "none" if name == "channels" else "image", "order": "weights"}
    config = SKETCH.default(operator, target).replace(**common, **copy, **changes)
    script = SKETCH.program(operator, target, config).script()
    head = f"# {operator.key}\n# {SKETCH.name} {SKETCH.version}: {config.key}\n"
    check_golden(GOLDEN / f"{name}.txt", f"{head}{script}\n")
