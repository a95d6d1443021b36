"""The sketch of direct convolution: any window, layout and config computes the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.operators.strategies import paddings
from tests.processors import any_target, each_target
from tests.properties import examples
from tunesmith.errors import InstantiationError, UsageError
from tunesmith.operators import Conv2d, conv2d, matmul, workload
from tunesmith.sketches.cpu.direct.kernel import unrolling
from tunesmith.sketches.cpu.direct.plan import Plan, Tile
from tunesmith.sketches.cpu.direct.sketch import CpuDirect
from tunesmith.sketches.cpu.direct.space import MAX_STATEMENTS
from tunesmith.sketches.cpu.direct.transpose import pieces
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

SKETCH = CpuDirect()
HERE = Target()
GOLDEN = Path(__file__).parent / "golden"


class TestCpuDirect(SketchConformance):
    sketch = SKETCH
    operators = (
        conv2d(ci=5, h=15, w=37, co=19, kernel=3, stride=2, padding=1, constant_weights=True),
        conv2d(ci=8, h=15, w=17, co=24, kernel=3, stride=2, layout="NHWC", residual=True),
        conv2d(ci=12, h=9, w=7, co=20, kernel=1, constant_weights=True, bias=True),
        conv2d(ci=6, h=13, w=19, co=10, kernel=(2, 5), stride=(3, 2), padding=(1, 4), groups=2),
        conv2d(
            ci=4, h=9, w=9, co=8, kernel=3, padding=1, dtype="float16", layout="NHWC", relu=True
        ),
    )


def _pair(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high))


@st.composite
def convolutions(draw: st.DrawFn) -> Conv2d:
    """Extents of one element, primes, and such as are below a vector, at one and above."""
    groups = draw(st.sampled_from((1, 1, 2)))
    options: dict[str, Any] = {
        "n": draw(st.integers(1, 2)),
        "ci": groups * draw(st.sampled_from((1, 3, 8, 16, 18))),
        "h": draw(st.integers(1, 17)),
        "w": draw(st.sampled_from((1, 2, 5, 7, 13, 16, 19, 35))),
        "co": groups * draw(st.sampled_from((1, 5, 16, 17, 33, 48))),
        "kernel": draw(st.just((1, 1)) | _pair(1, 4)),
        "stride": draw(_pair(1, 3)),
        "padding": draw(st.just((0, 0)) | paddings(3)),
        "dilation": draw(_pair(1, 3)),
        "groups": groups,
        "layout": draw(st.sampled_from(("NCHW", "NHWC"))),
        "dtype": draw(st.sampled_from(("float32", "float32", "float64", "float16"))),
    }
    options |= {
        name: draw(st.booleans()) for name in ("bias", "relu", "residual", "constant_weights")
    }
    try:
        return conv2d(**options)
    except UsageError:
        assume(False)
        raise


# Each example is a build.
@examples(25)
@given(operator=convolutions(), seed=st.integers(0, 2**32 - 1), target=any_target)
@example(
    operator=conv2d(ci=3, h=1, w=1, co=1, kernel=1, padding=2, stride=3), seed=0, target=Target()
)
@example(
    operator=conv2d(ci=2, h=5, w=3, co=4, kernel=(1, 2), padding=(0, 5), stride=2),
    seed=1,
    target=Target(),
)
def test_any_config_computes_the_reference(operator: Conv2d, seed: int, target: Target) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target, seed=seed % 7)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


# Strided, padded, with channels and columns that no tile divides.
UNEVEN = conv2d(n=2, ci=12, h=11, w=43, co=37, kernel=3, stride=2, padding=1, bias=True)


@each_target
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("copy", ["image", "rows"])
@pytest.mark.parametrize(
    "changes",
    [
        {"vectorize": "channels", "tile_columns": 3, "tile_channels": 2, "tails": "peel"},
        {"vectorize": "channels", "tile_columns": 6, "tile_channels": 1, "data": "blocked"},
        {"vectorize": "columns", "tile_columns": 1, "tile_channels": 5, "tails": "peel"},
        {"vectorize": "columns", "tile_columns": 1, "tile_channels": 6, "order": "pixels"},
    ],
)
def test_all_ways_to_read_and_write_compute_the_reference(
    layout: str, copy: str, changes: dict[str, Any], target: Target
) -> None:
    operator = conv2d(**{**_options(UNEVEN), "layout": layout})
    chosen = {"tile_rows": 2, "block": 4, "steps": 6, "copy": copy, "split_pixels": 3}
    chosen |= {"tails": "overlap", "prefetch": 0}
    config = SKETCH.default(operator, target).replace(**chosen | changes)
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{config.key}: {wrong}"


@each_target
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("copy", ["image", "rows"])
@pytest.mark.parametrize("pixels", [5, 6])
def test_tiles_that_go_on_in_the_next_row_compute_the_reference(
    layout: str, copy: str, pixels: int, target: Target
) -> None:
    """Rows are neither a multiple of the tiles nor longer than all of them."""
    operator = conv2d(ci=8, h=13, w=11, co=40, kernel=3, padding=1, stride=2, layout=layout)
    tile = {"tile_rows": 1, "tile_columns": pixels, "tile_channels": 2, "tails": "wrap"}
    chosen = {"vectorize": "channels", "copy": copy, "block": 4, "steps": 3, "split_pixels": 3}
    config = SKETCH.default(operator, target).replace(**tile, **chosen)
    wrong = mismatch(SKETCH, operator, config, target)
    assert wrong is None, f"{config.key}: {wrong}"


def _layer(name: str) -> Conv2d:
    operator = workload(name)
    assert isinstance(operator, Conv2d)
    return operator


def _options(operator: Conv2d) -> dict[str, Any]:
    return {option.name: getattr(operator, option.name) for option in operator.options()}


# -- what it schedules ----------------------------------------------------------------------------


@each_target
def test_it_is_for_convolutions_of_floats(target: Target) -> None:
    assert not SKETCH.supports(matmul(m=4, n=4, k=4), target)
    assert not SKETCH.supports(conv2d(ci=4, h=4, w=4, co=4, kernel=1, dtype="int8"), target)
    with pytest.raises(UsageError, match=r"^sketch cpu_direct is for conv2d, not for matmul.*$"):
        SKETCH.space(matmul(m=4, n=4, k=4), target)


@each_target
def test_padded_data_are_never_read_in_place(target: Target) -> None:
    padded, plain = workload("resnet18.C4"), workload("resnet18.C5")
    config = SKETCH.default(plain, target)
    assert config["copy"] == "none"
    assert SKETCH.default(padded, target)["copy"] == "image"
    with pytest.raises(InstantiationError, match=r"\A.*parameter 'copy' has no value 'none'.*\Z"):
        SKETCH.program(padded, target, SKETCH.default(padded, target).replace(copy="none"))


@each_target
def test_copies_too_large_for_32_bits_are_not_offered(target: Target) -> None:
    operator = conv2d(ci=64, h=5000, w=5000, co=1, kernel=1, padding=2000, stride=2)
    for config in SKETCH.space(operator, target).sample_many(20, np.random.default_rng(0)):
        assert config["copy"] == "rows"


@each_target
def test_vectors_of_strided_columns_need_a_copy(target: Target) -> None:
    space = SKETCH.space(workload("resnet18.C5"), target)
    configs = space.sample_many(400, np.random.default_rng(0))
    assert {(config["vectorize"], config["copy"]) for config in configs} == {
        ("channels", "none"),
        ("channels", "image"),
        ("channels", "rows"),
        ("columns", "image"),
        ("columns", "rows"),
    }


@each_target
@pytest.mark.parametrize("name", ["resnet18.C1", "resnet18.C8", "resnet18.C10", "mobilenet.pw5"])
def test_tiles_fit_the_registers_and_are_built_quickly(name: str, target: Target) -> None:
    operator = _layer(name)
    lanes = target.lanes("float32")
    registers = 32 if lanes == 16 else 16
    for config in SKETCH.space(operator, target).sample_many(200, np.random.default_rng(1)):
        plan = Plan.of(operator, target, config)
        tile = plan.tile
        pixels = tile.rows * tile.columns
        held = tile.channels if plan.vectorize == "channels" else pixels
        assert pixels * tile.channels + held < registers
        assert pixels * tile.channels * plan.steps <= MAX_STATEMENTS


@each_target
def test_pixels_of_pointwise_layers_are_one_axis(target: Target) -> None:
    strided, unstrided = _layer("resnet18.C8"), _layer("mobilenet.pw5")
    tile = {"tile_rows": 2, "tile_columns": 7, "tile_channels": 1}
    values = {**tile, "tails": "overlap", "steps": 4, "block": 1}
    for operator, copy, shape in (
        (unstrided, "none", (1, 784)),
        (strided, "none", (14, 14)),
        (strided, "image", (1, 196)),
    ):
        config = SKETCH.default(operator, target).replace(**values, copy=copy)
        plan = Plan.of(operator, target, config)
        assert (plan.rows, plan.columns) == shape
        assert plan.tile == (Tile(1, 14, 1) if plan.flat else Tile(2, 7, 1))


# -- its parts ------------------------------------------------------------------------------------


@given(st.integers(1, 40), st.sampled_from((1, 2, 4, 8, 16)))
def test_pieces_cover_an_extent_with_powers_of_two(extent: int, most: int) -> None:
    covered = set[int]()
    for start, length in pieces(extent, most):
        assert length & (length - 1) == 0
        assert length <= most
        assert 0 <= start <= extent - length
        covered |= set(range(start, start + length))
    assert covered == set(range(extent))


@given(st.lists(st.integers(1, 20), min_size=1, max_size=4), st.integers(1, 40))
def test_the_innermost_loops_are_unrolled_first(extents: list[int], steps: int) -> None:
    unrolled = unrolling(tuple(extents), steps)
    assert int(np.prod(unrolled)) <= steps
    assert all(extent % count == 0 for extent, count in zip(extents, unrolled, strict=True))
    for outer in range(len(extents) - 1):
        assert unrolled[outer] == 1 or unrolled[outer + 1 :] == extents[outer + 1 :]


# -- estimates ------------------------------------------------------------------------------------

ONE_CORE = Target(mcpu="x86-64-v4", cores=1)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        # Fourteen sums for two vectors of weights hide what three for one do not.
        ({"tile_columns": 14}, {"tile_columns": 10, "tile_channels": 1}),
        # Tiles of 28 columns all lie in the image of 56; the second of 20 overlaps by four.
        ({"tile_columns": 14}, {"tile_columns": 15, "tile_channels": 1}),
    ],
)
def test_estimates_know_what_is_faster(better: dict[str, Any], worse: dict[str, Any]) -> None:
    operator = workload("resnet18.C2")
    config = SKETCH.default(operator, ONE_CORE).replace(
        tile_rows=1, tile_channels=2, steps=9, tails="overlap"
    )
    first, second = (
        SKETCH.estimate(operator, ONE_CORE, config.replace(**changes))
        for changes in (better, worse)
    )
    assert first is not None
    assert second is not None
    assert 0 < first < second


def test_more_cores_are_estimated_to_be_faster() -> None:
    operator = workload("resnet18.C2")
    config = SKETCH.default(operator, ONE_CORE).replace(split_pixels=8, split_channels=1)
    one = SKETCH.estimate(operator, ONE_CORE, config)
    two = SKETCH.estimate(operator, Target(mcpu="x86-64-v4", cores=2), config)
    assert one is not None
    assert two is not None
    assert 0.4 * one < two < 0.7 * one


# -- programs, word for word ----------------------------------------------------------------------

PROGRAMS: dict[str, tuple[Conv2d, dict[str, Any]]] = {
    # Vectors of channels over rows that each task pads for itself; two sizes of tiles.
    "channels": (
        conv2d(ci=4, h=12, w=14, co=16, kernel=3, stride=2, padding=1, layout="NHWC", relu=True),
        {"tile_rows": 2, "tile_columns": 5, "tile_channels": 1, "tails": "peel", "copy": "rows"},
    ),
    # Vectors of pixels of a 1x1 window, read and written in place, with weights packed once.
    "columns": (
        conv2d(ci=8, h=9, w=9, co=12, kernel=1, constant_weights=True, residual=True),
        {"vectorize": "columns", "tile_rows": 1, "tile_columns": 2, "tile_channels": 5},
    ),
    # Tiles of pixels that go on in the next row, each with an address of its own.
    "wrapped": (
        conv2d(ci=8, h=7, w=7, co=32, kernel=3, padding=1, constant_weights=True, bias=True),
        {"tile_rows": 1, "tile_columns": 5, "tile_channels": 2, "tails": "wrap", "copy": "image"}
        | {"data": "blocked"},
    ),
    # Weights whose lines are asked for some terms ahead.
    "prefetched": (
        conv2d(ci=8, h=7, w=7, co=32, kernel=3, padding=1, constant_weights=True),
        {"tile_rows": 1, "tile_columns": 7, "tile_channels": 2, "tails": "peel", "copy": "image"}
        | {"prefetch": 8},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_as_it_was(name: str, check_golden: Callable[[Path, str], None]) -> None:
    operator, changes = PROGRAMS[name]
    target = Target(mcpu="x86-64-v4", cores=2)
    common = {"steps": 1, "block": 4, "split_pixels": 2, "split_channels": 1, "order": "weights"}
    config = SKETCH.default(operator, target).replace(**common, **changes)
    script = SKETCH.program(operator, target, config).script()
    head = f"# {operator.key}\n# {SKETCH.name} {SKETCH.version}: {config.key}\n"
    check_golden(GOLDEN / f"{name}.txt", f"{head}{script}\n")
