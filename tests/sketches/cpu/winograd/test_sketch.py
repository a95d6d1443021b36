"""Winograd's convolutions: the contract of sketches, odd shapes, and how much they round away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.docs.pages import ROOT
from tests.processors import any_target, each_target
from tests.properties import examples
from tests.sketches.cpu.winograd import rounding
from tests.sketches.winograd.convolutions import (
    ONLY_ON_PROCESSORS,
    OTHERS,
    any_windows,
    convolutions,
    transposed_convolutions,
)
from tunesmith.errors import UsageError
from tunesmith.operators import (
    Conv2d,
    Conv2dTranspose,
    Operator,
    conv2d,
    conv2d_transpose,
)
from tunesmith.sketches import sketch_for
from tunesmith.sketches.cpu.winograd.sketch import CpuWinograd
from tunesmith.sketches.winograd import transforms
from tunesmith.sketches.winograd.axes import TransposedAxis
from tunesmith.sketches.winograd.minimal import Minimal, minimal, tile_sizes
from tunesmith.target import Target
from tunesmith.testing.sketch import SketchConformance, mismatch

# Of the same figures on every machine.
SERVER = Target(mcpu="skylake-avx512", cores=2)
SKETCH = CpuWinograd()
GOLDEN = Path(__file__).parents[2] / "golden_winograd"


class TestCpuWinograd(SketchConformance):
    sketch = SKETCH
    samples = 1
    operators = (
        conv2d(ci=16, h=14, w=14, co=32, kernel=3, padding=1, bias=True, relu=True),
        conv2d(n=2, ci=19, h=9, w=13, co=24, kernel=3, layout="NHWC", residual=True),
        conv2d(ci=5, h=7, w=7, co=7, kernel=3, padding=1, constant_weights=True),
        conv2d(ci=1, h=3, w=3, co=1, kernel=3),
        conv2d(ci=16, h=15, w=14, co=24, kernel=3, stride=2, padding=1, constant_weights=True),
        conv2d(ci=9, h=13, w=17, co=16, kernel=(1, 7), padding=(0, 3), layout="NHWC"),
        conv2d(ci=8, h=11, w=12, co=16, kernel=3, padding=2, dilation=2, residual=True),
        conv2d_transpose(ci=8, h=7, w=9, co=19, kernel=4, stride=2, padding=1, bias=True),
        conv2d_transpose(
            n=2, ci=9, h=8, w=6, co=16, kernel=3, stride=2, padding=1, output_padding=1, relu=True
        ),
        conv2d_transpose(ci=5, h=9, w=8, co=8, kernel=3, padding=1, constant_weights=True),
    )


# -- what it computes -----------------------------------------------------------------------------


@examples(19)
@given(
    operator=convolutions() | convolutions(windows=any_windows()),
    seed=st.integers(0, 2**32 - 1),
    target=any_target,
)
def test_any_config_computes_the_reference(operator: Conv2d, seed: int, target: Target) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target, seed)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@examples(19)
@given(operator=transposed_convolutions(), seed=st.integers(0, 2**32 - 1), target=any_target)
def test_any_config_computes_transposed_convolutions(
    operator: Conv2dTranspose, seed: int, target: Target
) -> None:
    config = SKETCH.space(operator, target).sample(np.random.default_rng(seed))
    wrong = mismatch(SKETCH, operator, config, target, seed)
    assert wrong is None, f"{operator.key} {config.key}: {wrong}"


@examples(6)
@given(operator=convolutions(), rows=st.sampled_from((2, 4)), columns=st.sampled_from((2, 4)))
def test_the_error_is_within_its_bound(operator: Conv2d, rows: int, columns: int) -> None:
    error = rounding.measured(operator, rows, columns)
    assert error.relative <= rounding.bound(rows, columns)
    assert error.share_of_tolerance <= 1


@examples(6)
@given(operator=convolutions(windows=any_windows()) | transposed_convolutions(), data=st.data())
def test_so_is_that_of_other_windows(
    operator: Conv2d | Conv2dTranspose, data: st.DataObject
) -> None:
    rows, columns = data.draw(st.sampled_from(tiles_of(operator)))
    error = rounding.measured(operator, rows, columns)
    assert error.relative <= rounding.LARGEST
    assert error.share_of_tolerance <= 1


def tiles_of(operator: Conv2d | Conv2dTranspose) -> list[tuple[int, int]]:
    """Rows and columns of the tiles that some configs have."""
    configs = SKETCH.space(operator, SERVER).sample_many(20, np.random.default_rng(0))
    tiles = {(config["tile_rows"], config["tile_columns"]) for config in configs}
    return sorted((int(str(rows)), int(str(columns))) for rows, columns in tiles)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("taps", range(1, 8))
def test_the_matrices_are_exact(taps: int, stride: int) -> None:
    """A^T [(G g) * (B^T d)] is the correlation of d with g, in rational numbers."""
    for size in tile_sizes(taps, stride):
        _check_exact(size, taps, stride)


def _check_exact(size: int, count: int, stride: int) -> None:
    matrices = minimal(size, count, stride)
    data, taps = _data_and_taps(matrices.inputs, count)
    outputs = _filtered(matrices, data, taps)
    expected = [sum(data[i * stride + k] * taps[k] for k in range(count)) for i in range(size)]
    assert outputs == expected


def _data_and_taps(inputs: int, count: int) -> tuple[list[Fraction], list[Fraction]]:
    data = [Fraction(3 * i * i - 7 * i + 2) for i in range(inputs)]
    return data, [Fraction(5 - 8 * i + 3 * i**3) for i in range(count)]


def _filtered(matrices: Minimal, data: list[Fraction], taps: list[Fraction]) -> list[Fraction]:
    def times(matrix: Any, values: list[Fraction]) -> list[Fraction]:
        return [sum(a * b for a, b in zip(row, values, strict=True)) for row in matrix]

    turned = times(matrices.data, data)
    factors = times(matrices.filter, taps)
    products = [factor * turned[k % len(turned)] for k, factor in enumerate(factors)]
    return times(matrices.output, products)


@pytest.mark.parametrize("padding", range(4))
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("taps", range(1, 8))
def test_those_of_transposed_convolutions_are_exact(taps: int, stride: int, padding: int) -> None:
    """The tile in the middle of an image: each input adds its multiple of the taps."""
    axis = TransposedAxis(99, 98 * stride - 2 * padding + taps, taps, stride, padding)
    for size in axis.sizes:
        matrices = axis.minimal(size)
        first = 3 * size
        start = axis.first_input(first) - axis.before(size)
        data, kernel = _data_and_taps(matrices.inputs, taps)
        # With the padding and without what is cut off, output 0 is the first of the first input.
        begin = first - axis.cut(size) + padding
        expected = [
            sum(
                data[i - start] * kernel[place - i * stride]
                for i in range(start, start + matrices.inputs)
                if 0 <= place - i * stride < taps
            )
            for place in range(begin, begin + size)
        ]
        assert _filtered(matrices, data, kernel) == expected
        # Neither the input before the tile's nor the one behind them counts.
        assert begin - (start - 1) * stride >= taps
        assert begin + size - 1 < (start + matrices.inputs) * stride


@pytest.mark.parametrize(
    ("size", "tiles", "cut", "transformed"),
    [
        # 17 pixels of both turns with the same windows are one tile more than 16.
        (8, 4, 0, 10),
        (6, 6, 1, 4),
    ],
)
def test_turns_share_data_where_that_takes_no_further_tile(
    size: int, tiles: int, cut: int, transformed: int
) -> None:
    axis = TransposedAxis(inputs=16, outputs=32, taps=4, stride=2, padding=1)
    assert axis.tiles(size) == tiles
    assert axis.cut(size) == cut
    assert len(axis.minimal(size).data) == transformed


@pytest.mark.parametrize(
    ("taps", "stride", "size", "products"),
    [(3, 1, 2, 4), (3, 1, 4, 6), (3, 2, 2, 5), (3, 2, 4, 9), (7, 1, 4, 13), (1, 2, 1, 1)],
)
def test_there_are_fewer_products(taps: int, stride: int, size: int, products: int) -> None:
    assert minimal(size, taps, stride).products == products


@dataclass(frozen=True)
class Written:
    """A value that adds the operations it takes to a list.

    What is multiplied by a constant costs nothing yet: it becomes part of an addition.
    """

    done: list[str]
    factor: Fraction = Fraction(1)

    def __add__(self, other: Written) -> Written:
        if abs(self.factor) != 1 and abs(other.factor) != 1:
            self.done.append("multiplication")
        self.done.append("addition")
        return Written(self.done)

    __sub__ = __add__

    def __rmul__(self, factor: Fraction) -> Written:
        return Written(self.done, factor)


def kept(_: str, value: Written) -> Written:
    if value.factor != 1:
        value.done.append("multiplication")
    return Written(value.done)


@pytest.mark.parametrize(("taps", "stride", "size"), [(3, 1, 4), (3, 2, 2), (7, 2, 4), (5, 1, 3)])
def test_operations_are_counted_as_they_are_written(
    taps: int, stride: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transforms, "_constant", lambda factor, _: factor)
    matrices = minimal(size, taps, stride)
    for matrix in (matrices.data, matrices.filter, matrices.output):
        done: list[str] = []
        transforms.product(matrix, [Written(done) for _ in matrix[0]], kept)
        assert transforms.operations(matrix) == len(done)


# -- what it is for -------------------------------------------------------------------------------


@each_target
@pytest.mark.parametrize("operator", OTHERS, ids=lambda operator: operator.label)
def test_other_operators_are_left_to_others(operator: Operator, target: Target) -> None:
    assert not SKETCH.supports(operator, target)
    with pytest.raises(UsageError, match="sketch cpu_winograd cannot schedule"):
        sketch_for(operator, target, SKETCH.name)


@each_target
@pytest.mark.parametrize("operator", ONLY_ON_PROCESSORS, ids=lambda operator: operator.label)
def test_other_windows_are_for_it(operator: Operator, target: Target) -> None:
    assert SKETCH.supports(operator, target)


@examples(150)
@given(
    operator=convolutions()
    | convolutions(largest=300)
    | convolutions(largest=60, windows=any_windows())
    | transposed_convolutions(largest=60),
    mcpu=st.sampled_from(("nehalem", "haswell", "skylake-avx512")),
    cores=st.sampled_from((1, 2, 3, 16, 96)),
)
def test_every_operator_has_a_default_on_every_target(
    operator: Conv2d | Conv2dTranspose, mcpu: str, cores: int
) -> None:
    target = Target(mcpu=mcpu, cores=cores)
    SKETCH.space(operator, target).check(SKETCH.default(operator, target))


# -- programs -------------------------------------------------------------------------------------

# Each with what it changes of the default.
PROGRAMS: dict[str, tuple[Operator, dict[str, Any]]] = {
    "fused": (
        conv2d(ci=16, h=10, w=14, co=32, kernel=3, padding=1, bias=True, relu=True),
        {"tile_rows": 2, "tile_columns": 2, "stages": "fused", "block_rows": 2, "unroll": 2}
        | {"block_columns": 7, "register_tiles": 5, "register_vectors": 2},
    ),
    "strided": (
        conv2d(ci=16, h=9, w=12, co=16, kernel=(3, 1), stride=(2, 1), padding=(1, 0)),
        {"tile_rows": 2, "tile_columns": 1, "stages": "fused", "block_rows": 1, "unroll": 1}
        | {"block_columns": 12, "register_tiles": 8, "register_vectors": 1},
    ),
    "dilated": (
        conv2d(ci=16, h=10, w=7, co=16, kernel=3, padding=2, dilation=2),
        {"tile_rows": 2, "tile_columns": 2, "stages": "fused", "block_rows": 2, "unroll": 1}
        | {"block_columns": 4, "register_tiles": 8, "register_vectors": 1},
    ),
    "transposed": (
        conv2d_transpose(ci=16, h=5, w=7, co=16, kernel=4, stride=2, padding=1, bias=True),
        {"tile_rows": 4, "tile_columns": 4, "stages": "fused", "block_rows": 3, "unroll": 1}
        | {"block_columns": 4, "register_tiles": 8, "register_vectors": 1},
    ),
    "in_loops": (
        conv2d(ci=16, h=11, w=11, co=16, kernel=7, stride=2, padding=3),
        {"tile_rows": 3, "tile_columns": 3, "stages": "fused", "block_rows": 2, "unroll": 1}
        | {"block_columns": 2, "register_tiles": 4, "register_vectors": 1},
    ),
    "prefetched": (
        conv2d(ci=16, h=8, w=8, co=32, kernel=3, padding=1, constant_weights=True),
        {"tile_rows": 2, "tile_columns": 2, "stages": "fused", "block_rows": 2, "unroll": 1}
        | {"block_columns": 4, "register_tiles": 5, "register_vectors": 2, "prefetch": 8},
    ),
    "apart": (
        conv2d(ci=20, h=9, w=9, co=16, kernel=3, layout="NHWC", constant_weights=True),
        {"tile_rows": 2, "tile_columns": 4, "stages": "apart", "block_rows": 4, "unroll": 1}
        | {"block_columns": 2, "register_tiles": 8, "register_vectors": 1},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_is_as_it_was(name: str, check_golden: Callable[[Path, str], None]) -> None:
    operator, changes = PROGRAMS[name]
    config = SKETCH.default(operator, SERVER).replace(**changes)
    script = SKETCH.program(operator, SERVER, config).script()
    head = f"# {operator.key}\n# {SKETCH.name} {SKETCH.version}: {config.key}\n"
    check_golden(GOLDEN / f"{name}.txt", f"{head}{script}\n")


# -- the documented errors ------------------------------------------------------------------------


def test_the_documented_errors_are_those_measured() -> None:
    """A machine with other vectors sums in another order: figures may differ by a half."""
    page = (ROOT / "docs" / "sketches.md").read_text(encoding="utf-8")
    documented = rounding.read_table(page)
    measured = rounding.table()
    assert documented.keys() == measured.keys()
    for channels, errors in measured.items():
        assert documented[channels] == pytest.approx(errors, rel=0.5), channels
